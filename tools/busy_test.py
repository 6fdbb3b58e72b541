"""Holds icount runs against a busy host: values and outcomes must be those of a quiet one, and a kernel that
hangs must be said to.

    .venv/bin/python tools/busy_test.py TREE [--loops 8] [--stop-seconds 300] [--out DIR]

Four runs of the demo's two kernels: alone, beside busy loops, with every emulator stopped by SIGSTOP for a
while, and, beside the busy loops, a kernel that spins for ever in one helper. Ends with 1 if any of them
differs from what it should be.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
SLOWER = ROOT / "examples" / "uninline-local-storage-lookup.patch"
HANGING = ROOT / "examples" / "hang-in-strncmp.patch"
LARGEST = 0.00002
"""Two runs of equal kernels differ by at most 0.002 %."""

Measured = Mapping[tuple[str, str], float]
"""Values of primary metrics by arm and case."""


def main() -> int:
    options = _options()
    shutil.rmtree(options.out, ignore_errors=True)
    quiet = _run(options, "quiet", SLOWER, "local-storage")
    with _busy(options.loops):
        busy = _run(options, "busy", SLOWER, "local-storage")
    stopped = _run(options, "stopped", SLOWER, "local-storage", stop_seconds=options.stop_seconds)
    with _busy(options.loops):
        _run(options, "hanging", HANGING, "strncmp", more=["--hang-after", "10"])
    checks = [
        _same(f"beside {options.loops} busy loops", options.out, "quiet", "busy", quiet, busy),
        _same(
            f"emulators stopped for {options.stop_seconds} s", options.out, "quiet", "stopped", quiet, stopped
        ),
        _hangs(options.out / "hanging"),
    ]
    return 0 if all(checks) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree")
    parser.add_argument("--loops", type=int, default=8)
    parser.add_argument("--stop-seconds", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("cliffwatch-results/busy"))
    return parser.parse_args()


@contextmanager
def _busy(loops: int) -> Iterator[None]:
    processes = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _run(
    options: argparse.Namespace,
    name: str,
    patch: Path,
    suite: str,
    *,
    stop_seconds: int = 0,
    more: Sequence[str] = (),
) -> Measured:
    began = time.monotonic()
    argv = [
        str(Path(sys.executable).parent / "cliffwatch"),
        "run",
        "--tree",
        options.tree,
        "--mode",
        "icount",
    ]
    argv += [
        "--base",
        "HEAD",
        "--head",
        "HEAD",
        "--patch",
        str(patch),
        "--suite",
        suite,
        "--out",
        str(options.out / name),
    ]
    with subprocess.Popen([*argv, *more], stdout=subprocess.DEVNULL) as process:
        if stop_seconds:
            _stop_emulators(process, options.out / name, stop_seconds)
        status = process.wait()
    print(f"{name}: exit {status} after {time.monotonic() - began:.0f} s", flush=True)
    return _values(options.out / name)


def _stop_emulators(process: "subprocess.Popen[bytes]", out: Path, seconds: int) -> None:
    """Stops every emulator of a run in the middle of a case, and lets it go on later."""
    while process.poll() is None and not list(out.glob("boots/*/1/cases/*.status")):
        time.sleep(1)
    emulators = [pid for pid in _descendants(process.pid) if "qemu-system" in _command(pid)]
    print(f"stopping {len(emulators)} emulators for {seconds} s", flush=True)
    for pid in emulators:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in emulators:
        os.kill(pid, signal.SIGCONT)


def _descendants(ancestor: int) -> set[int]:
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    processes = {ancestor}
    while more := {pid for pid, parent in parents.items() if parent in processes} - processes:
        processes |= more
    return processes


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[0]
    except OSError:
        return ""


def _values(run: Path) -> Measured:
    values = {}
    for path in sorted(run.glob("boots/*/samples.json")):
        arm = path.parent.name.partition("-")[2]
        for sample in json.loads(path.read_text())["samples"]:
            if sample["metric"] == "insns/op":
                values[arm, f"{sample['benchmark']} {sample['params']}"] = sample["value"]
    return values


def _outcomes(run: Path) -> dict[tuple[str, str], tuple[str, str]]:
    return {
        (path.parent.name.partition("-")[2], f"{each['benchmark']} {each['params']}"): (
            each["status"],
            each["reason"],
        )
        for path in run.glob("boots/*/samples.json")
        for each in json.loads(path.read_text())["outcomes"]
    }


def _same(title: str, out: Path, one: str, other: str, ours: Measured, theirs: Measured) -> bool:
    outcomes = _outcomes(out / one) == _outcomes(out / other)
    largest = max((abs(theirs[key] / value - 1) for key, value in ours.items() if key in theirs), default=1.0)
    good = outcomes and ours.keys() == theirs.keys() and largest <= LARGEST
    words = "the same outcomes" if outcomes else "OTHER OUTCOMES"
    print(
        f"{'ok ' if good else 'BAD'} {title}: {len(theirs)} values, largest difference {largest:.5%}, {words}"
    )
    return good


def _hangs(run: Path) -> bool:
    hangs = {"base": ("none", ""), "head": ("none", "")}
    hangs |= {
        arm: status for (arm, case), status in _outcomes(run).items() if case.startswith("strncmp-helper")
    }
    others = {
        status for (_, case), (status, _) in _outcomes(run).items() if not case.startswith("strncmp-helper")
    }
    good = (
        hangs["base"][0] == "ok"
        and hangs["head"] == ("timeout", "the guest hung while it ran")
        and others == {"ok"}
    )
    print(
        f"{'ok ' if good else 'BAD'} a kernel that hangs: {hangs['head']}, its base {hangs['base'][0]}, other"
        f" cases {others}"
    )
    return good


if __name__ == "__main__":
    sys.exit(main())
