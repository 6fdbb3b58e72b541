"""Runs all checks of a host and summarises them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cliffwatch.samples import Mode
from cliffwatch_runner.doctor.boot import boot_checks
from cliffwatch_runner.doctor.build import build_checks
from cliffwatch_runner.doctor.check import Check, Group
from cliffwatch_runner.doctor.facts import HostFacts
from cliffwatch_runner.doctor.walltime import walltime_checks

NEEDED: dict[Mode, tuple[Group, ...]] = {
    "icount": ("build", "boot"),
    "walltime": ("build", "boot", "walltime"),
}


def checks(facts: HostFacts) -> Iterator[Check]:
    """Yields every check in display order: build, boot, walltime."""
    yield from build_checks(facts)
    yield from boot_checks(facts)
    yield from walltime_checks(facts)


def for_mode(results: Sequence[Check], mode: Mode) -> tuple[Check, ...]:
    """Marks checks that `mode` does not need as `skip`: they are shown, but do not count."""
    return tuple(check if check.group in NEEDED[mode] else replace(check, status="skip") for check in results)


def to_fix(results: Sequence[Check], mode: Mode) -> int:
    """Returns the number of failed checks that `mode` needs; 0 if the host is fit."""
    return sum(check.status == "fail" and check.group in NEEDED[mode] for check in results)


def verdict(results: Sequence[Check], mode: Mode) -> str:
    """Returns one sentence about the requested mode, with a clause about the other one."""
    other: Mode = "walltime" if mode == "icount" else "icount"
    here, there = to_fix(results, mode), to_fix(results, other)
    fit = f"not fit for {mode} runs: {_things(here)} to fix" if here else f"fit for {mode} runs"
    return f"This host is {fit}; for {other}: {_things(there)} to fix."


def _things(count: int) -> str:
    return {0: "nothing", 1: "1 thing"}.get(count, f"{count} things")
