"""Checks before each job whether the host is still fit, compared with its state at the worker's start."""

from collections.abc import Callable, Sequence
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch.samples import DEFAULT_ACCEL, Accel, Mode
from cliffwatch_runner.doctor.check import Check
from cliffwatch_runner.doctor.examination import NEEDED, needed_checks
from cliffwatch_runner.doctor.facts import gather_facts

Unfit = Callable[[Mode], Failure | None]
"""Returns why this host cannot do a job in a mode now; None if it can."""


def fitness_check(cache: Path, at_start: Sequence[Check], accel: Accel = DEFAULT_ACCEL) -> Unfit:
    """Checks for new failures only.

    Those at the start were shown to the operator, who chose to run anyway.
    """

    def unfit(mode: Mode) -> Failure | None:
        return find_new_failures(at_start, needed_checks(gather_facts(cache), accel), mode)

    return unfit


def find_new_failures(at_start: Sequence[Check], now: Sequence[Check], mode: Mode) -> Failure | None:
    """Returns why a host that was fit for a mode is not any more; None if it still is. Pure."""
    known = {check.name for check in at_start if check.status == "fail"}
    fresh = [
        check
        for check in now
        if check.status == "fail" and check.group in NEEDED[mode] and check.name not in known
    ]
    if not fresh:
        return None
    found = "; ".join(f"{check.name}: {check.finding}" for check in fresh)
    return host_failed(
        f"this host is no longer fit for {mode} runs ({found})",
        "; ".join(" or ".join(check.fixes) for check in fresh),
    )
