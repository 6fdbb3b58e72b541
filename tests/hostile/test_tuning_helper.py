"""Whoever may start the tuning helper as root gets the host tuned for a while, and nothing else of root."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_host import fake_host

from cliffwatch_runner.host.knobs import KNOB_FILES, SERVICES, tuning_plan
from cliffwatch_runner.host.tuning_helper import WANTED, request_line, serve, write_helper
from cliffwatch_runner.host.tuning_rights import lines_to_allow, tune_by_helper

SMT = "sys/devices/system/cpu/smt/control"
GOVERNOR = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
LATENCY = "dev/cpu_dma_latency"

STAND_IN = """
import sys
from pathlib import Path
from cliffwatch_runner.host.tuning_helper import serve


class NoServices:
    def active(self, name): return False
    def start(self, name): raise AssertionError(name)
    def stop(self, name): raise AssertionError(name)


sys.exit(serve(sys.stdin.buffer, sys.stdout.buffer, root=Path(sys.argv[1]), journal=Path(sys.argv[2]), services=NoServices()))
"""

CALLER = """
import os, signal, sys
from cliffwatch_runner.host.tuning_rights import tune_by_helper

with tune_by_helper(sys.argv[1:], frozenset({1}), report=print):
    print("tuned", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fake_host(tmp_path / "root", **{"sys/kernel/mm/transparent_hugepage/enabled": "madvise\n"})


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "var/host-tuning.json"


@pytest.fixture
def helper(root: Path, journal: Path) -> list[str]:
    return [sys.executable, "-c", STAND_IN, str(root), str(journal)]


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes().strip()
        for path in root.rglob("*")
        if path.is_file() and path.name != "cpu_dma_latency"
    }


def refused(line: bytes, root: Path, journal: Path) -> str:
    before, answers = contents(root), io.BytesIO()

    assert serve(io.BytesIO(line), answers, root=root, journal=journal) != 0

    assert contents(root) == before
    return str(json.loads(answers.getvalue())["refused"])


def test_an_ordinary_user_tunes_by_the_helper_and_all_is_put_back(
    root: Path, journal: Path, helper: list[str]
) -> None:
    before, reported = contents(root), []

    with tune_by_helper(helper, frozenset({1}), report=reported.append) as tuned:
        during = contents(root)
        assert journal.exists()

    assert during[SMT] == b"off"
    assert during[GOVERNOR] == b"performance"
    assert during["proc/irq/24/smp_affinity_list"] == b"0"
    assert {outcome.name for outcome in tuned.outcomes if outcome.state == "changed"} > {
        "smt",
        "governor",
        "irq-affinity",
    }
    assert contents(root) == before
    assert not journal.exists()
    assert reported == []


def test_all_is_put_back_when_the_caller_is_killed(root: Path, journal: Path, helper: list[str]) -> None:
    before = contents(root)

    caller = subprocess.run(
        [sys.executable, "-c", CALLER, *helper], capture_output=True, text=True, check=False
    )

    assert (caller.returncode, caller.stdout) == (-signal.SIGKILL, "tuned\n")
    wait_until(lambda: not journal.exists())
    assert contents(root) == before


def test_a_killed_helper_is_put_right_by_the_next(root: Path, journal: Path, helper: list[str]) -> None:
    before = contents(root)
    with subprocess.Popen(helper, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as killed:
        assert killed.stdin is not None
        assert killed.stdout is not None
        killed.stdin.write(request_line(frozenset()).encode() + b"\n")
        killed.stdin.flush()
        killed.stdout.readline()
        killed.kill()
    assert contents(root) != before

    with tune_by_helper(helper, frozenset(), report=print):
        pass

    assert contents(root) == before


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"smt=off",
        b"smt=on\n",
        b"smt\n",
        b"smt=off smt=off\n",
        b"smt=off  ksm=0\n",
        b"smt=off\tksm=0\n",
        b"smt=off\0\n",
        b"SMT=off\n",
        b"sys/kernel/mm/ksm/run=0\n",
        b"../../etc/shadow=x\n",
        b"/etc/shadow=x\n",
        b"governor=performance;reboot\n",
        b"governor=../performance\n",
        b"--help\n",
        b"-c=x\n",
        b"LD_PRELOAD=/tmp/x.so\n",
        b"PATH=/tmp\n",
        b"irqbalance=sshd\n",
        b"sshd=stopped\n",
        b"irq-affinity=0\n",
        b"cpus=\n",
        b"cpus=9999\n",
        b"cpus=0-99999\n",
        b"cpus=1,../x\n",
        b"cpus=-1\n",
        b"cpus=\xd9\xa1\n",
        "smt=oﬀ\n".encode(),
        b"smt=off " * 600 + b"\n",
    ],
)
def test_what_is_not_in_the_table_is_refused(line: bytes, root: Path, journal: Path) -> None:
    assert refused(line, root, journal)
    assert not journal.exists()


@pytest.mark.parametrize("how", ["link", "link to nothing", "folder", "pipe", "of all users"])
def test_nothing_is_changed_where_the_journal_has_been_prepared(
    root: Path, journal: Path, tmp_path: Path, how: str
) -> None:
    journal.parent.mkdir()
    victim = tmp_path / "victim"
    victim.write_text("keep")
    if how.startswith("link"):
        journal.symlink_to(victim if how == "link" else tmp_path / "absent")
    elif how == "folder":
        journal.mkdir()
    elif how == "pipe":
        os.mkfifo(journal)
    else:
        journal.write_text(
            json.dumps({"format_version": 1, "boot_id": None, "pid": 1, "written": "", "entries": []})
        )
        journal.chmod(0o666)
    before, answers = contents(root), io.BytesIO()

    serve(io.BytesIO(b"smt=off\n"), answers, root=root, journal=journal)

    assert contents(root) == before
    assert victim.read_text() == "keep"
    assert not (tmp_path / "absent").exists()
    document = json.loads(answers.getvalue().splitlines()[0])
    assert all(outcome["state"] != "changed" for outcome in document["outcomes"])
    assert document["sentences"]


def test_a_link_at_the_locks_place_is_not_followed(root: Path, journal: Path, tmp_path: Path) -> None:
    journal.parent.mkdir()
    (journal.parent / "tuning.lock").symlink_to(tmp_path / "made")

    assert "cannot be written" in refused(b"smt=off\n", root, journal)
    assert not (tmp_path / "made").exists()


def test_two_do_not_tune_at_a_time(root: Path, journal: Path, helper: list[str]) -> None:
    with tune_by_helper(helper, frozenset(), report=print):
        assert "is already tuning this host" in refused(b"smt=off\n", root, journal)


def test_only_what_was_asked_for_is_tuned(root: Path, journal: Path) -> None:
    answers = io.BytesIO()

    serve(io.BytesIO(b"governor=performance\n"), answers, root=root, journal=journal)

    outcomes = json.loads(answers.getvalue().splitlines()[0])["outcomes"]
    assert {outcome["name"] for outcome in outcomes} == {"governor"}


def test_the_table_has_every_knob_of_a_run(root: Path) -> None:
    plan = tuning_plan(root, frozenset({1}))

    assert {knob.name for knob in plan.knobs} == {*WANTED, "irq-affinity", "workqueues"} - {
        "irqbalance",
        "c-states",
    }
    assert all(KNOB_FILES.fullmatch(knob.path) for knob in plan.knobs)
    assert plan.services == SERVICES


def test_the_helper_is_one_file_that_reads_nothing_of_the_callers(tmp_path: Path) -> None:
    program = tmp_path / "cliffwatch-tune"
    write_helper(program)
    trap = tmp_path / "json.py"
    trap.write_text("raise SystemExit('taken over')")
    env = {"PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": str(trap), "PATH": "/usr/bin:/bin"}

    done = subprocess.run(
        [program, "--help"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )

    assert program.read_bytes().startswith(b"#!/usr/bin/python3 -IS\n")
    assert program.stat().st_mode & 0o777 == 0o755
    assert done.returncode == 1
    assert (
        "takes no arguments" in done.stderr if os.geteuid() == 0 else "must be started by sudo" in done.stderr
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="the installed helper runs as root alone")
def test_the_installed_helper_refuses_in_words(tmp_path: Path) -> None:
    program = tmp_path / "cliffwatch-tune"
    write_helper(program)

    done = subprocess.run([program], input=b"/etc/shadow=x\n", capture_output=True, check=False)

    assert json.loads(done.stdout) == {"refused": "'/etc/shadow=x' is not a knob with an allowed value"}


def test_sudo_lets_the_user_start_it_without_arguments_alone() -> None:
    assert any(
        'bench ALL=(root) NOPASSWD: /usr/local/sbin/cliffwatch-tune ""' in line
        for line in lines_to_allow("bench")
    )


def wait_until(met: object) -> None:
    until = time.monotonic() + 30
    while not met():
        assert time.monotonic() < until
        os.sched_yield()
