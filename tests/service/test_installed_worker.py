"""The worker of `cliffwatch host install` does a job: its unit's command, as its user, in what the unit's
settings come to.
"""

import ctypes.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from asking import ask
from click.testing import CliRunner
from demonstration_tree import write_demonstration_tree
from service_running import Running
from worker_jobs import TARGET, request

from cliffwatch.command.main import main
from cliffwatch_runner.sandbox.unprivileged_user import User, find_closed_folder
from cliffwatch_runner.worker.installation.files import CACHE, STATE, TOKEN, WORKER_UNIT

TESTS = Path(__file__).parents[1]
NOBODY = User(uid=64750, gid=64750)
HAS_FILTER = shutil.which("systemd-analyze") is not None and ctypes.util.find_library("seccomp") is not None

PROGRAM = """\
#!{python}
import sys
from functools import partial
from cliffwatch.command.main import main
from cliffwatch_runner.command import worker
sys.executable = "{folder}/python"
worker.JobLimits = partial(worker.JobLimits, free_disk=0, free_memory=0)
main()
"""
JOBS_PYTHON = '#!/bin/sh\n[ "$1 $2" = "-m cliffwatch.command" ] && shift 2\nexec {python} {stand_in} "$@"\n'


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def program(open_folder: Path) -> Path:
    """A `cliffwatch` whose jobs have their guests played by tests/fakevng."""
    folder = open_folder / "bin"
    stand_in = TESTS / "service/stand_in_command.py"
    write_program(folder / "python", JOBS_PYTHON.format(python=sys.executable, stand_in=stand_in))
    return write_program(folder / "cliffwatch", PROGRAM.format(python=sys.executable, folder=folder))


def installed(program: Path, url: str, token: Path, root: Path) -> Path:
    """The unit of a worker that was installed below `root`."""
    root.mkdir(mode=0o755)
    words = ["--url", url, "--platform", "emulated-x86-64", "--mode", "icount", "--name", "emulator-1"]
    words += ["--token-file", str(token), "--program", str(program), "--root", str(root)]
    ended = CliRunner().invoke(main, ["host", "install", *words])
    assert ended.exit_code == 0, ended.output
    return root / WORKER_UNIT.relative_to("/")


def started(unit: Path, folder: Path, shown: Sequence[Path]) -> "subprocess.Popen[str]":
    """The unit's worker, with its folders below `folder`."""
    bound = {
        STATE: folder / "state",
        CACHE: folder / "cache",
        TOKEN: folder / "root" / TOKEN.relative_to("/"),
    }
    for path in (bound[STATE], bound[CACHE]):
        path.mkdir(mode=0o700)
    own = ["unshare", "--mount", "--uts"]
    if os.geteuid() == 0:
        for path in bound.values():
            NOBODY.own(path)
    else:
        own += ["--user", "--map-current-user", "--keep-caps"]
    places = {
        "user": NOBODY.uid if os.geteuid() == 0 else None,
        "bound": {str(path): str(source) for path, source in bound.items()},
        "shown": [str(path) for path in shown],
        "filter": HAS_FILTER,
    }
    (folder / "places").write_text(json.dumps(places))
    launcher = [sys.executable, str(TESTS / "installation/as_unit.py"), str(unit), str(folder / "places")]
    return subprocess.Popen([*own, *launcher], stderr=subprocess.PIPE, text=True, cwd="/")


@dataclass(frozen=True)
class EndedWorker:
    """A worker that was asked to end after its first job: what it said, its status line by line while it
    worked, and its exit code.
    """

    said: str
    about: dict[str, str]
    code: int


def do_a_job(program: Path, running: Running, folder: Path, shown: Sequence[Path]) -> EndedWorker:
    token = folder / "token"
    token.write_text(running.token("emulator-1", "work", host="emulator-1"))
    token.chmod(0o600)
    with started(installed(program, running.url, token, folder / "root"), folder, shown) as worker:
        assert worker.stderr is not None
        said, status = [], ""
        for line in worker.stderr:
            said.append(line)
            if line.startswith("emulator-1 "):
                status = Path(f"/proc/{worker.pid}/status").read_text()
            if line.startswith("job ") and " of git://" not in line:
                worker.send_signal(signal.SIGTERM)
                break
        said += worker.stderr.readlines()
    about = dict(line.split(":\t", 1) for line in status.splitlines())
    return EndedWorker("".join(said), about, worker.wait())


def shown_programs() -> tuple[Path, ...]:
    """What the worker's user reads of this Cliffwatch."""
    programs = (Path(sys.prefix), Path(sys.base_prefix), TESTS.parent)
    if os.geteuid() == 0 and any(find_closed_folder(NOBODY, path) is not None for path in programs):
        pytest.skip("root keeps Cliffwatch where the worker's user does not get to")
    return programs


def is_confined(worker: EndedWorker) -> None:
    about = worker.about
    assert about["Uid"].split()[1] == str(os.geteuid() or NOBODY.uid)
    assert (int(about["CapEff"], 16), int(about["CapBnd"], 16), about["NoNewPrivs"]) == (0, 0, "1")
    assert about["Seccomp"] == ("2" if HAS_FILTER else "0")


@pytest.mark.namespaces
def test_an_installed_worker_does_a_job_within_what_its_unit_allows(
    running: Running, served: Any, program: Path, open_folder: Path
) -> None:
    programs = shown_programs()
    made = request(running, served)

    worker = do_a_job(program, running, open_folder, programs)

    assert worker.code == 0, worker.said
    is_confined(worker)
    (job,) = running.get(f"/requests/{made['request']}")["jobs"]
    assert (job["state"], job["reason"]) == ("done", None), worker.said
    assert len(running.rows("SELECT number FROM boot")) == 4
    record = running.get(f"/runs/{job['run']}")["record"]
    assert record["isolation"] == "built in a sandbox without network or your home (bubblewrap)"


@pytest.mark.namespaces
@pytest.mark.kernel
@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_an_installed_worker_does_a_job_of_a_real_kernel(
    running: Running, served: Any, open_folder: Path
) -> None:
    """The demonstration's two kernels, built from nothing as a stranger's are: twenty minutes."""
    programs = shown_programs()
    url, repository = served
    shutil.rmtree(repository)
    base, head = write_demonstration_tree(repository)
    made = ask(running, tree=url, base=base, head=head, targets=TARGET, profile="smoke", boots="1")

    text = f"#!{sys.executable}\nfrom cliffwatch.command.main import main\nmain()\n"
    outside_home = write_program(open_folder / "bin" / "cliffwatch", text)

    worker = do_a_job(outside_home, running, open_folder, programs)

    assert worker.code == 0, worker.said
    is_confined(worker)
    (job,) = running.get(f"/requests/{made['request']}")["jobs"]
    assert (job["state"], job["reason"]) == ("done", None), worker.said
    running.do_tasks()
    rows = running.get(f"/runs/{job['run']}/comparison")["comparisons"]
    assert Counter(row["verdict"] for row in rows if row["primary"]) == {"regression": 5, "unchanged": 2}
