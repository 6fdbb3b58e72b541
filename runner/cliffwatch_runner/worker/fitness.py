"""Whether a host is still fit: the doctor's checks before each job, against those of the start."""

from collections.abc import Callable, Sequence
from pathlib import Path

from cliffwatch.samples import Mode
from cliffwatch_runner.doctor.check import Check
from cliffwatch_runner.doctor.examination import NEEDED, checks
from cliffwatch_runner.doctor.facts import gather

Unfit = Callable[[Mode], str | None]
"""Why this host cannot do a job in a mode now, with how to put that right; None where it can."""


def unfit_since_start(cache: Path, at_start: Sequence[Check]) -> Unfit:
    """What failed when the worker started was shown then, and its operator works with it; what fails since ends its fitness."""

    def unfit(mode: Mode) -> str | None:
        return no_longer_fit(at_start, tuple(checks(gather(cache))), mode)

    return unfit


def no_longer_fit(at_start: Sequence[Check], now: Sequence[Check], mode: Mode) -> str | None:
    """Why a host that was fit for a mode is not now. Pure."""
    known = {check.name for check in at_start if check.status == "fail"}
    fresh = [
        check
        for check in now
        if check.status == "fail" and check.group in NEEDED[mode] and check.name not in known
    ]
    if not fresh:
        return None
    found = "; ".join(f"{check.name}: {check.finding}, {' or '.join(check.fixes)}" for check in fresh)
    return f"this host is no longer fit for {mode} runs: {found}"
