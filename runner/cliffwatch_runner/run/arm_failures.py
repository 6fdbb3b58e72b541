"""Arms whose kernel built and gave nothing: why, from their boots."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cliffwatch.failure import Failure

_FAILURES = {
    "panic": ("kernel", "the kernel panics before it can be measured", "see the console in the boot's folder"),
    "hang": ("kernel", "the guest hangs before it can be measured", "see the console; --hang-after gives it more time"),
    "lost": (
        "host",
        "the guest ended without a message",
        "see the console in the boot's folder, and `cliffwatch doctor`",
    ),
    "too-much-output": ("kernel", "the guest wrote more than it may", "see what it wrote in the boot's folder"),
}


def arm_failures(run: Path, arms: Iterable[str]) -> dict[str, Failure]:
    """For each arm without a single case that ended well: why, from the last of its boots."""
    failures: dict[str, Failure] = {}
    boots = [_boot(path) for path in sorted((run / "boots").glob("*/boot.json"))]
    for arm in arms:
        ours = [boot for boot in boots if boot["arm"] == arm]
        if ours and not any(_measured(boot) for boot in ours):
            failure = _failure(ours[-1])
            if failure is not None:
                failures[arm] = failure
    return failures


def _boot(path: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads(path.read_text())
    outcomes = json.loads((path.parent / "samples.json").read_text())["outcomes"]
    return {**about, "outcomes": outcomes}


def _measured(boot: Mapping[str, Any]) -> bool:
    return any(outcome["status"] == "ok" for outcome in boot["outcomes"])


def _failure(boot: Mapping[str, Any]) -> Failure | None:
    """None where the guest itself was well and each case failed on its own account."""
    last = boot["parts"][-1]
    if last["status"] == "refused":
        return _refused(str(last["evidence"]))
    if last["status"] not in _FAILURES:
        return None
    whose, message, next_step = _FAILURES[last["status"]]
    return Failure(whose=whose, message=message, next_step=next_step, evidence=last["evidence"])  # type: ignore[arg-type]


def _refused(evidence: str) -> Failure:
    """The agent's refusals name a setting, which was asked for, the guest's shape, which is the host's doing, or the kernel's own options."""
    if evidence.startswith("setting: "):
        return Failure(
            whose="usage",
            message=evidence.splitlines()[0].removeprefix("setting: "),
            next_step="give this arm a setting that its kernel has, and a value that it takes",
            evidence=evidence,
        )
    of_host = "the guest's " in evidence
    return Failure(
        whose="host" if of_host else "kernel",
        message="the guest was refused: " + (evidence.splitlines() or ["no reason given"])[0],
        next_step="see `cliffwatch doctor`" if of_host else "fix the configuration",
        evidence=evidence,
    )
