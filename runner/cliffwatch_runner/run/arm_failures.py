"""Finds out from its boots why an arm whose kernel built measured nothing."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from cliffwatch.failure import Failure, Party, wrong_usage
from cliffwatch.formats.boot_record import BootRecord, SamplesRecord
from cliffwatch.formats.reading import read_as
from cliffwatch.parsers.readings import Problem

_FAILURES: Mapping[str, tuple[Party, str, str]] = {
    "panic": (
        "kernel",
        "the kernel panics before it can be measured",
        "see the console in the boot's folder",
    ),
    "hang": (
        "kernel",
        "the guest hangs before it can be measured",
        "see the console; --hang-after gives it more time",
    ),
    "lost": (
        "host",
        "the guest ended without a message",
        "see the console in the boot's folder, and `cliffwatch doctor`",
    ),
    "too-much-output": (
        "kernel",
        "the guest wrote more output than allowed",
        "see its output in the boot's folder",
    ),
}


_OF_NODES = "the guest's numa-nodes is "
"""How the agent's refusal begins when the kernel has no NUMA support."""


def arm_failures(run: Path, arms: Iterable[str]) -> dict[str, Failure]:
    """Explains, from its last boot, why an arm has no case that succeeded. Other arms have no entry."""
    failures: dict[str, Failure] = {}
    boots = [
        boot for path in sorted((run / "boots").glob("*/boot.json")) if (boot := _boot(path)) is not None
    ]
    for arm in arms:
        ours = [(boot, measured) for boot, measured in boots if boot.arm == arm]
        if ours and not any(measured for _, measured in ours):
            failure = _failure(ours[-1][0])
            if failure is not None:
                failures[arm] = failure
    return failures


def _boot(path: Path) -> tuple[BootRecord, bool] | None:
    """Returns a boot and whether one of its cases succeeded; None if its files are damaged.

    Reports show damaged files by themselves.
    """
    boot = read_as(path.read_bytes(), BootRecord)
    samples = read_as((path.parent / "samples.json").read_bytes(), SamplesRecord)
    if isinstance(boot, Problem) or isinstance(samples, Problem):
        return None
    return boot, any(outcome.status == "ok" for outcome in samples.outcomes)


def _failure(boot: BootRecord) -> Failure | None:
    """Returns None if the guest itself was fine and each case failed for a reason of its own."""
    last = boot.parts[-1]
    if last.status == "refused":
        return _refused(last.evidence)
    if last.status not in _FAILURES:
        return None
    whose, message, next_step = _FAILURES[last.status]
    return Failure(whose=whose, message=message, next_step=next_step, evidence=last.evidence)


def _refused(evidence: str) -> Failure:
    """Explains a refusal of the agent.

    A refusal names a setting (a mistake in the request), the guest's shape (a problem of the host), or the
    kernel's options.
    """
    if evidence.startswith("setting: "):
        return wrong_usage(
            evidence.splitlines()[0].removeprefix("setting: "),
            "choose a setting that this arm's kernel has, and a value that it accepts",
            evidence,
        )
    if evidence.startswith(_OF_NODES):
        return wrong_usage(
            f"the guest was refused: {evidence.splitlines()[0]}",
            "add CONFIG_NUMA=y and CONFIG_X86_64_ACPI_NUMA=y to the suite's config or --config",
            evidence,
        )
    of_host = "the guest's " in evidence
    return Failure(
        whose="host" if of_host else "kernel",
        message="the guest was refused: " + (evidence.splitlines() or ["no reason given"])[0],
        next_step="see `cliffwatch doctor`" if of_host else "fix the configuration",
        evidence=evidence,
    )
