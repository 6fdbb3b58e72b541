"""What veristat says of the programs of a BPF object, as samples and outcomes: each program is a case of its own, with one parameter more."""

from collections.abc import Iterator

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.parsers.veristat_programs import NO_MEMORY, VerifiedProgram
from cliffwatch.samples import OF_OBJECT, CaseKey, CaseOutcome, Sample


def outcome_of_program(case: PlannedCase, program: VerifiedProgram) -> CaseOutcome:
    """A program that the kernel had no memory for is not refused: nothing is known of it."""
    key = _key(case, program)
    if program.taken:
        return CaseOutcome(case=key, status="ok")
    if program.error == NO_MEMORY:
        reason = (
            f"the guest has too little memory to verify it: give it more with --memory ({program.reason})"
        )
        return CaseOutcome(case=key, status="failed", reason=reason)
    return CaseOutcome(case=key, status="refused", reason=program.reason)


def samples_of_program(case: PlannedCase, program: VerifiedProgram) -> Iterator[Sample]:
    for metric, (value, unit) in program.values.items():
        yield Sample(case=_key(case, program), metric=metric, unit=unit, value=value)


def _key(case: PlannedCase, program: VerifiedProgram) -> CaseKey:
    return case.key._replace(params=(*case.key.params, (OF_OBJECT, program.name)))
