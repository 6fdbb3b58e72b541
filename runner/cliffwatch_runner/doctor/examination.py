"""Runs all checks of a host and summarises them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cliffwatch.samples import DEFAULT_ACCEL, Accel, Mode
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


def needed_checks(facts: HostFacts, accel: Accel) -> tuple[Check, ...]:
    """Returns every check. In a rehearsal no check of walltime fails a host, and KVM is not asked for."""
    return tuple(_rehearsed(check) if accel == "tcg" else check for check in checks(facts))


def _rehearsed(check: Check) -> Check:
    if check.group != "walltime" or check.status != "fail":
        return check
    return replace(check, status="skip" if check.name == "kvm" else "warn")


def for_mode(results: Sequence[Check], mode: Mode) -> tuple[Check, ...]:
    """Marks checks that `mode` does not need as `skip`: they are shown, but do not count."""
    return tuple(check if check.group in NEEDED[mode] else replace(check, status="skip") for check in results)


def to_fix(results: Sequence[Check], mode: Mode) -> int:
    """Returns the number of failed checks that `mode` needs; 0 if the host is fit."""
    return sum(check.status == "fail" and check.group in NEEDED[mode] for check in results)


def verdict(results: Sequence[Check], mode: Mode, accel: Accel = DEFAULT_ACCEL) -> str:
    """Returns one sentence about the requested mode, with a clause about the other one."""
    other: Mode = "walltime" if mode == "icount" else "icount"
    here, there = to_fix(results, mode), to_fix(results, other)
    runs = f"rehearsals of {mode}" if accel == "tcg" else f"{mode} runs"
    fit = f"not fit for {runs}: {_things(here)} to fix" if here else f"fit for {runs}"
    return f"This host is {fit}; for {other}: {_things(there)} to fix."


def as_document(results: Sequence[Check], mode: Mode, accel: Accel = DEFAULT_ACCEL) -> str:
    """Returns the checks as JSON.

    `{mode, fit, verdict, to_fix: {icount, walltime}, checks: [{name, group, status, finding, why, fixes[]}]}`
    """
    document = {
        "mode": mode,
        "fit": to_fix(results, mode) == 0,
        "verdict": verdict(results, mode, accel),
        "to_fix": {"icount": to_fix(results, "icount"), "walltime": to_fix(results, "walltime")},
        "checks": [check.document() for check in for_mode(results, mode)],
    }
    return json.dumps(document, indent=2)


def _things(count: int) -> str:
    return {0: "nothing", 1: "1 thing"}.get(count, f"{count} things")
