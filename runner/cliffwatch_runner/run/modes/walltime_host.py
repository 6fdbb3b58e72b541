"""Examines the host before a walltime run and explains what its faults cost."""

from collections.abc import Iterator, Sequence

from cliffwatch.comparing.validity import rehearsal_warning
from cliffwatch.counting import count_noun, format_duration
from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner.doctor.check import Check
from cliffwatch_runner.doctor.facts import gather_facts
from cliffwatch_runner.doctor.walltime import walltime_checks
from cliffwatch_runner.host.journal import Journal
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.plan.text import cost_text, further_boots_text

_LONGEST_FINDING = 200


def examine_host(request: RunRequest) -> tuple[Check, ...] | Failure:
    """Returns the doctor's checks for walltime that warn or fail. What a killed run left tuned is no fault,
    because the run restores it first.

    Fails if KVM does not run a guest, unless it is a rehearsal, which needs none.
    """
    facts = gather_facts(request.cache)
    if not facts.kvm.usable and not request.is_rehearsal:
        return host_failed(
            "walltime needs KVM, and KVM does not run a guest here",
            "see `cliffwatch doctor --mode walltime`, or use --mode icount; --accel tcg rehearses walltime "
            "without KVM, and what it measures is no time of hardware",
            facts.kvm.reason,
        )
    of_others = {"kvm"} if request.is_rehearsal else set()
    of_others |= {"leftover-tuning"} if isinstance(facts.leftover, Journal) else set()
    needed = (check for check in walltime_checks(facts) if check.name not in of_others)
    return tuple(check for check in needed if check.status in ("warn", "fail"))


def host_faults(amiss: Sequence[Check]) -> tuple[str, ...]:
    """Returns a line such as `smt: on` for each failed check.

    Reports of the run show them. A bench host has none.
    """
    return tuple(_found(check) for check in amiss if check.status == "fail")


def cost_lines(amiss: Sequence[Check], planned: PlannedRun) -> Iterator[str]:
    """Yields lines about the duration of the run, the host's faults, and why each of them matters."""
    stages, boots = planned.plan.stages, count_noun(len(planned.plan.boots), "boot")
    more = f", then {further_boots_text(planned.plan, stages)}" if stages is not None else ""
    if planned.plan.budget is not None:
        more = f", then as many as fit into {format_duration(planned.plan.budget.seconds)}"
    where = f" in {planned.layouts} layouts of each kernel" if planned.layouts > 1 else ""
    yield f"walltime: {boots}{where}{more}; {cost_text(planned)}"
    yield from rehearsal_warning(planned.platform)
    if not amiss:
        return
    if host_faults(amiss):
        yield (
            "this host is not a bench host, and the report will say so."
            " Noise hides small changes, and rows may stay inconclusive:"
        )
    else:
        yield "the doctor recommends fixing:"
    yield from (f"  {_found(check)}. {check.why}" for check in amiss)
    yield (
        "`cliffwatch doctor --mode walltime` shows how to fix this;"
        " --mode icount gives the same values on any host"
    )


def _found(check: Check) -> str:
    finding = check.finding.splitlines()[0] if check.finding else "unknown"
    return f"{check.name}: {finding[:_LONGEST_FINDING]}"
