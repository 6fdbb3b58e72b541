"""Tunes the host for an ordinary user, until that user closes standard input.

This is the only part of Cliffwatch that an ordinary user may run as root. It is installed as one file that
root owns (`cliffwatch doctor --tuning-helper FILE`), and sudo starts it without arguments. One line on
standard input names the knobs, in words of a fixed table; no word becomes a path, an option or a value. The
host is restored when standard input ends, however the caller ended. The changes of a killed helper are in
the journal.
"""

import fcntl
import json
import os
import re
import signal
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, NoReturn

from cliffwatch import samples
from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch_runner.host.cpu_lists import parse_cpu_list
from cliffwatch_runner.host.journal import JOURNAL, Journal, Services, read_journal
from cliffwatch_runner.host.knobs import TuningPlan, primary_threads, tuning_plan
from cliffwatch_runner.host.tuning import tune_host

INSTALLED = Path("/usr/local/sbin/cliffwatch-tune")

WANTED = {
    "irqbalance": "stopped",
    "smt": "off",
    "boost": "off",
    "governor": "performance",
    "ksm": "0",
    "thp": "never",
    "numa-balancing": "0",
    "watchdogs": "0",
    "perf-sampling": "1",
    "c-states": "0",
}
"""All requests that are allowed, besides `cpus=LIST`: CPUs that interrupts and kernel threads must leave."""

_CPUS = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*")
_LONGEST = 4096
_SHEBANG = "/usr/bin/python3 -IS"
"""Ignores the caller's environment, folder and installed packages."""

_PARTS = (
    *("cliffwatch/__init__.py", "cliffwatch/failure.py", "cliffwatch/samples.py"),
    *(f"cliffwatch_runner/{name}.py" for name in ("__init__", "clock", "process")),
    *(
        f"cliffwatch_runner/host/{name}.py"
        for name in ("__init__", "cpu_lists", "facts", "journal", "knobs", "tuning")
    ),
    "cliffwatch_runner/host/tuning_helper.py",
)

_START = "from cliffwatch_runner.host.tuning_helper import main\n\nmain()\n"


_WAIT = "wait until it ends"


def request_line(cpus: frozenset[int]) -> str:
    """Returns the request to tune everything, for guests that are pinned to these CPUs."""
    words = [f"{name}={value}" for name, value in WANTED.items()]
    return " ".join([*words, *([f"cpus={','.join(map(str, sorted(cpus)))}"] if cpus else [])])


def parse_request(line: str, root: Path) -> TuningPlan | Failure:
    """Parses a request."""
    words = [word.partition("=") for word in line.split(" ")]
    names = [name for name, _, _ in words]
    if len(set(names)) != len(names):
        return _refuse("a knob is named twice")
    cpus: frozenset[int] = frozenset()
    for name, _, value in words:
        if name == "cpus" and _CPUS.fullmatch(value):
            cpus = frozenset(parse_cpu_list(value) or ())
        elif WANTED.get(name) != value:
            return _refuse(f"{f'{name}={value}'[:80]!a} is not a knob with an allowed value")
    if not cpus <= primary_threads(root):
        return _refuse("cpus names CPUs that this host does not have, or that are second threads of a core")
    plan = tuning_plan(root, cpus)
    named = {*names, *(("irq-affinity", "workqueues") if cpus else ())}
    return replace(
        plan,
        knobs=tuple(knob for knob in plan.knobs if knob.name in named),
        services=tuple(service for service in plan.services if service in named),
        idle_latency_us=plan.idle_latency_us if "c-states" in named else None,
    )


def serve(
    requests: IO[bytes],
    answers: IO[bytes],
    *,
    root: Path = Path("/"),
    journal: Path = JOURNAL,
    services: Services | None = None,
) -> int:
    """Reads one request, tunes the host, and restores it when `requests` ends. Returns the exit status.

    Answers in lines of JSON: `{"refused": why}`, or `{"outcomes": […], "sentences": […]}` and at the end
    `{"sentences": […]}`.
    """
    line = requests.readline(_LONGEST)
    plan = _plan(line, root)
    if isinstance(plan, Failure):
        _answer(answers, refused=plan.message)
        return 2
    with _lock_tuning(journal) as hindrance:
        if hindrance is not None:
            _answer(answers, refused=hindrance.message)
            return 4
        sentences: list[str] = []
        with tune_host(plan, report=sentences.append, root=root, journal=journal, services=services) as tuned:
            _answer(answers, outcomes=[asdict(outcome) for outcome in tuned.outcomes], sentences=sentences)
            sentences.clear()
            while requests.read(_LONGEST):
                pass
        _answer(answers, sentences=sentences)
    return 0


def _plan(line: bytes, root: Path) -> TuningPlan | Failure:
    if not line.endswith(b"\n"):
        return _refuse("the request is not a line, or is too long")
    if not line.isascii():
        return _refuse("the request is not plain text")
    return parse_request(line[:-1].decode(), root)


def _refuse(why: str) -> Failure:
    return wrong_usage(why, "install the tuning helper of the same version as the command")


def _answer(answers: IO[bytes], **document: object) -> None:
    answers.write(json.dumps(document).encode() + b"\n")
    answers.flush()


@contextmanager
def _lock_tuning(journal: Path) -> Iterator[Failure | None]:
    """Locks the tuning of this host while the block runs. Yields why it cannot, or None."""
    left = read_journal(journal)
    if isinstance(left, Journal) and left.pid != os.getpid() and Path("/proc", str(left.pid)).exists():
        yield host_failed(f"process {left.pid} is already tuning this host", _WAIT)
        return
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(
            journal.parent / "tuning.lock", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    except OSError as error:
        yield host_failed(f"{journal.parent} cannot be written: {error.strerror}", "start the helper as root")
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield host_failed("another tuning helper is already tuning this host", _WAIT)
    else:
        yield None
    finally:
        os.close(lock)


def write_helper(path: Path) -> None:
    """Writes the helper as one file that needs only Python 3.11 and its standard library. Raises OSError."""
    folders = {"cliffwatch": Path(samples.__file__).parent, "cliffwatch_runner": Path(__file__).parents[1]}
    with path.open("wb") as file:
        file.write(f"#!{_SHEBANG}\n".encode())
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in _PARTS:
                package, name = part.split("/", 1)
                archive.writestr(zipfile.ZipInfo(part), (folders[package] / name).read_bytes())
            archive.writestr(zipfile.ZipInfo("__main__.py"), _START)
    path.chmod(0o755)


def main() -> NoReturn:
    """Runs as root. Of the caller's environment, keeps only the three standard descriptors."""
    if os.geteuid() != 0:
        sys.exit(f"{INSTALLED} must be started by sudo: docs/host.md has the line for sudoers.")
    if sys.argv[1:]:
        sys.exit("The tuning helper takes no arguments: it reads its request from standard input.")
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    os.chdir("/")
    os.umask(0o022)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _exit_on_signal)
    sys.exit(serve(sys.stdin.buffer, sys.stdout.buffer))


def _exit_on_signal(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)
