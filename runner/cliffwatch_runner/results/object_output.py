"""Turns veristat's output for a BPF object into samples and outcomes.

Each program of the object is a case of its own, with one more parameter.
"""

from collections.abc import Iterator

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.parsers.veristat_programs import NO_MEMORY, VerifiedProgram
from cliffwatch.samples import PROGRAM_PARAM, CaseKey, CaseOutcome, Sample


def outcome_of_program(case: PlannedCase, program: VerifiedProgram) -> CaseOutcome:
    """Returns the outcome of one program.

    If the kernel ran out of memory the program failed; it was not refused.
    """
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
    return case.key._replace(params=(*case.key.params, (PROGRAM_PARAM, program.name)))
