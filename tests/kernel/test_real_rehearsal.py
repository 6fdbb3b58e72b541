"""The whole walltime path on real kernels, emulated: control arm, pinning, the host's lock and its tuning,
and a run that is killed and goes on. What it reads is noise; that it reads it is the promise.

Uses the user's cache, as the other tests of real kernels do.
"""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from isolation_here import ISOLATION, leave_out_root

from cliffwatch_runner.host.journal import JOURNAL
from cliffwatch_runner.host.knobs import primary_threads, tuning_plan

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"
PATCH = ROOT / "examples" / "uninline-local-storage-lookup.patch"
PINNED = frozenset(sorted(primary_threads())[1:])
"""Its guests are pinned to some of these."""

MAY_FAIL = 3
"""Exit code if a case failed. On a busy host a boot may read nothing that makes sense."""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    leave_out_root()
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    out = tmp_path_factory.mktemp("rehearsal") / "results"
    argv = [str(CLIFFWATCH), "run", "--tree", str(found[-1]), "--base", "HEAD", "--head", "HEAD"]
    argv += ["--patch", str(PATCH), "--isolation", ISOLATION, "--mode", "walltime", "--accel", "tcg"]
    return [
        *argv,
        "--suite",
        "local-storage",
        "--case",
        "seq-get/nr_maps=16",
        "--boots",
        "2",
        "--out",
        str(out),
    ]


@pytest.fixture(scope="module")
def settings() -> dict[str, str | None]:
    """Of this host, before anything was measured."""
    return read_settings()


def read_settings() -> dict[str, str | None]:
    paths = [Path("/") / knob.path for knob in tuning_plan(Path("/"), PINNED).knobs]
    return {str(path): path.read_text() if path.exists() else None for path in paths}


def finished(results: Path) -> dict[str, bytes]:
    return {about.parent.name: about.read_bytes() for about in sorted(results.glob("boots/*/boot.json"))}


def wait_for_boots(results: Path, count: int, child: subprocess.Popen[str]) -> dict[str, bytes]:
    while len(finished(results)) < count and child.poll() is None:
        time.sleep(0.2)
    return finished(results)


@pytest.fixture(scope="module")
def killed(command: list[str], settings: dict[str, str | None]) -> dict[str, bytes]:
    """The boots that were done when the run was killed, in the midst of the next one."""
    assert settings
    with subprocess.Popen(command, start_new_session=True, text=True, stdout=subprocess.DEVNULL) as child:
        done = wait_for_boots(Path(command[-1]), 2, child)
        child.send_signal(signal.SIGKILL)
    return done


@pytest.fixture(scope="module")
def ended(command: list[str], killed: dict[str, bytes]) -> subprocess.CompletedProcess[str]:
    """The same command, after the kill."""
    assert len(killed) == 2, "the run ended before it could be killed"
    ended = subprocess.run(command, check=False, text=True, capture_output=True)
    assert ended.returncode in (0, MAY_FAIL), ended.stdout + ended.stderr
    return ended


@pytest.fixture(scope="module")
def record(command: list[str], ended: subprocess.CompletedProcess[str]) -> Any:
    assert ended.stdout
    return json.loads((Path(command[-1]) / "run.json").read_text())


def test_a_killed_rehearsal_goes_on_with_the_boots_that_are_done(
    command: list[str], killed: dict[str, bytes], ended: subprocess.CompletedProcess[str]
) -> None:
    boots = finished(Path(command[-1]))

    assert "resuming in" in ended.stderr
    assert {name: boots[name] for name in killed} == killed
    assert Counter(name.partition("-")[2] for name in boots) == {"base": 2, "head": 2, "control": 2}


def test_its_host_is_as_it_was(
    settings: dict[str, str | None], ended: subprocess.CompletedProcess[str]
) -> None:
    assert ended.stdout
    assert read_settings() == settings
    assert not JOURNAL.exists()


def test_what_this_host_has_was_tuned_and_the_rest_is_recorded_with_the_reason(record: Any) -> None:
    tuned = record["host"]["tuned"]

    assert {each["name"] for each in tuned} >= {"smt", "boost", "thp", "ksm", "irqbalance"}
    assert {each["state"] for each in tuned} <= {"changed", "already", "skipped", "refused"}
    assert all(each["reason"] for each in tuned if each["state"] in ("skipped", "refused"))


def test_its_guests_were_emulated_and_pinned(record: Any) -> None:
    assert (record["mode"], record["platform"]) == ("walltime", "rehearsal-x86-64")
    assert record["guest"]["accelerator"] == "tcg"
    assert len(record["guest"]["pin"]) == (record["guest"]["cpus"] if PINNED else 0)
    assert set(record["guest"]["pin"]) <= PINNED


def test_every_boot_ran_to_its_end_by_the_same_clock_and_measured(command: list[str], record: Any) -> None:
    boots = sorted(about.parent for about in Path(command[-1]).glob("boots/*/boot.json"))
    read = {
        name: [json.loads((boot / f"{name}.json").read_text()) for boot in boots]
        for name in ("boot", "environment", "samples")
    }
    values = [sample["value"] for each in read["samples"] for sample in each["samples"]]

    assert record["status"] == "complete"
    assert [each["status"] for each in read["boot"]] == ["complete"] * 6
    assert {each["clocksource"] for each in read["environment"]} == {"tsc"}
    assert len(values) >= 5
    assert min(values) > 0


def test_its_report_says_what_it_is_and_that_two_boots_show_nothing(
    ended: subprocess.CompletedProcess[str],
) -> None:
    text = " ".join(ended.stdout.split())

    assert text.count("This is a rehearsal: QEMU emulated the processor") == 1
    assert "2 boots per kernel, in 2 layouts, walltime" in text
    assert "base vs base check in other layouts: 0 of" in text
    assert "slower" not in ended.stdout.splitlines()[0]
