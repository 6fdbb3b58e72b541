"""Kills a rehearsal at random moments and checks that nothing measured is lost and the host is as before.

    .venv/bin/python tools/kill_rehearsal.py TREE [--seed N] [--kills 10] [--boots 4] [--out DIR] [--cache DIR]

TREE is a source folder or archive; run it as root, or the host is not tuned. After each kill (SIGKILL)
`cliffwatch doctor --restore` puts the settings back, and the same command resumes. After the last kill it
runs to its end. Prints a line for each kill; ends with 1 if a boot that was done changed or was measured
again, if a guest outlived its run, or if a setting is not as before.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from cliffwatch_runner.host.journal import JOURNAL
from cliffwatch_runner.host.knobs import primary_threads, tuning_plan

ROOT = Path(__file__).parents[1]
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"
PATCH = ROOT / "examples" / "uninline-local-storage-lookup.patch"
LONGEST = 60.0
"""Seconds from the start of a run to its kill, at most."""
MAY_FAIL = 3
"""Exit code if a case failed: on a busy host a boot may read nothing that makes sense."""
GUEST_ENDS = 30.0
"""Seconds that a guest may take to notice that its run is gone."""

Settings = dict[str, str | None]
Boots = dict[str, bytes]


@dataclass
class Tally:
    """What the kills met and broke."""

    tuned: int = 0
    """Kills while the host was tuned."""
    faults: list[str] = field(default_factory=list)


def main() -> int:
    options = _options()
    command = _command(options)
    before, tally, draw = _read_settings(), Tally(), random.Random(options.seed)
    for number in range(1, options.kills + 1):
        after = draw.uniform(0.5, LONGEST)
        done = _kill(command, after, options.out)
        met = f"kill {number} after {after:.1f} s, {len(done)} boots done"
        if done is None:
            return _end(tally, f"{met}: the run ended before; choose more --boots")
        tally.tuned += JOURNAL.exists()
        tally.faults += _check(done, options.out, before)
        print(f"{met}: {tally.faults[-1] if tally.faults else 'as before'}", flush=True)
    ended = subprocess.run(command, check=False, text=True, capture_output=True)
    if ended.returncode not in (0, MAY_FAIL):
        tally.faults.append(f"the last run failed: {(ended.stdout + ended.stderr)[-2000:]}")
    tally.faults += _changed(before)
    tally.faults += _measured_otherwise(options)
    return _end(tally, f"{options.kills} kills, {tally.tuned} of them of a tuned host")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--boots", type=int, default=4, help="of each arm")
    parser.add_argument("--out", type=Path, default=Path("cliffwatch-results/killed-rehearsal"))
    parser.add_argument("--cache", type=Path)
    return parser.parse_args()


def _command(options: argparse.Namespace) -> list[str]:
    words = [CLIFFWATCH, "run", "--tree", options.tree, "--base", "HEAD", "--head", "HEAD", "--patch", PATCH]
    words += ["--mode", "walltime", "--accel", "tcg", "--suite", "local-storage"]
    words += ["--case", "seq-get/nr_maps=16", "--boots", options.boots, "--layouts", 2, "--out", options.out]
    words += ["--cache", options.cache] if options.cache else []
    return list(map(str, words))


def _kill(command: list[str], after: float, out: Path) -> Boots | None:
    """Runs the command and kills it. Returns the boots that were done; None if it ended first."""
    with subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        try:
            child.wait(after)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            return _finished(out)
    return None


def _check(done: Boots, out: Path, before: Settings) -> list[str]:
    """Restores the host. Returns what is not as it was."""
    deadline = time.monotonic() + GUEST_ENDS
    while (guests := _guests()) and time.monotonic() < deadline:
        time.sleep(0.5)
    faults = [f"guests outlived the run: {' '.join(guests)}"] if guests else []
    restored = subprocess.run(
        [CLIFFWATCH, "doctor", "--restore"], check=False, text=True, capture_output=True
    )
    if restored.returncode:
        faults.append(f"doctor --restore: {restored.stdout}{restored.stderr}")
    lost = sorted(name for name, content in done.items() if _finished(out).get(name) != content)
    return [*faults, *_changed(before), *(f"boot {name} is not as it was" for name in lost)]


def _guests() -> list[str]:
    """The guests in real time: those of runs in icount are none of ours."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().split(b"\0")
        except OSError:
            continue  # it ended
        if b"qemu-system" in words[0] and b"-icount" not in words:
            found.append(process.parent.name)
    return found


def _finished(out: Path) -> Boots:
    return {about.parent.name: about.read_bytes() for about in sorted(out.glob("boots/*/boot.json"))}


def _read_settings() -> Settings:
    knobs = tuning_plan(Path("/"), frozenset(sorted(primary_threads())[1:])).knobs
    paths = [Path("/") / knob.path for knob in knobs]
    return {str(path): path.read_text() if path.exists() else None for path in paths}


def _changed(before: Settings) -> list[str]:
    now = _read_settings()
    changed = [
        f"{path}: {now.get(path)!r}, before {value!r}"
        for path, value in before.items()
        if now.get(path) != value
    ]
    return [*changed, *([f"{JOURNAL} is left"] if JOURNAL.exists() else [])]


def _measured_otherwise(options: argparse.Namespace) -> list[str]:
    """Says which arm does not have each planned boot once."""
    record = json.loads((options.out / "run.json").read_text())
    boots = Counter(name.partition("-")[2] for name in _finished(options.out))
    planned = Counter(boot["arm"] for boot in record["plan"]["boots"])
    return [] if boots == planned else [f"boots {dict(boots)}, planned {dict(planned)}"]


def _end(tally: Tally, sentence: str) -> int:
    print(f"{sentence}; {'nothing lost, all settings as before' if not tally.faults else 'faults:'}")
    for fault in tally.faults:
        print(f"  {fault}")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
