"""The system commands that an installation runs."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner import process
from cliffwatch_runner.worker.installation.files import (
    DOCTOR_UNIT,
    SYSUSERS,
    TIMER,
    TMPFILES,
    USER,
    WORKER_UNIT,
)

Step = tuple[str, ...]
"""A command. All are safe to repeat."""

_SECONDS = 120.0


def steps_to_install(*, changed: bool) -> tuple[Step, ...]:
    """Creates user and folders, and starts worker and timer.

    If anything changed, a running worker is restarted after its job.
    """
    start: Step = ("systemctl", "restart", "--no-block") if changed else ("systemctl", "start")
    return (
        ("systemd-sysusers", str(SYSUSERS)),
        ("systemd-tmpfiles", "--create", str(TMPFILES)),
        ("systemctl", "daemon-reload"),
        ("systemctl", "enable", WORKER_UNIT.name, TIMER.name),
        ("systemctl", "start", TIMER.name),
        (*start, WORKER_UNIT.name),
    )


def steps_before_removal(units: Sequence[Path]) -> tuple[Step, ...]:
    """Stops the services while their units still exist. A running job ends first."""
    there = [unit.name for unit in (TIMER, WORKER_UNIT, DOCTOR_UNIT) if unit in units]
    enabled = [name for name in there if name != DOCTOR_UNIT.name]
    return (
        *([("systemctl", "disable", *enabled)] if enabled else []),
        *([("systemctl", "stop", *there)] if there else []),
    )


def steps_after_removal(*, files: bool, user: bool) -> tuple[Step, ...]:
    """Makes systemd forget the units. Removes the user once nothing belongs to it."""
    return (*([("systemctl", "daemon-reload")] if files else []), *([("userdel", USER)] if user else []))


def step_text(step: Step) -> str:
    return shlex.join(step)


def run_steps(steps: Sequence[Step], *, seconds: float = _SECONDS) -> Failure | None:
    """Runs the commands in turn and stops at the first failure."""
    for step in steps:
        try:
            ended = process.run(step, deadline=seconds)
        except OSError as error:
            return _failed(step, f"{step[0]}: {error.strerror}")
        if not ended.ok:
            return _failed(step, ended.output.strip()[-2000:] or f"it ended with {ended.status}")
    return None


def _failed(step: Step, evidence: str) -> Failure:
    return host_failed(
        f"`{step_text(step)}` failed: {evidence}",
        "fix the error, then repeat the command: finished steps are safe to repeat",
        evidence,
    )
