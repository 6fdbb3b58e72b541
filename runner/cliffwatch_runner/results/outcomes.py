"""Reads the outcomes and samples of cases from the raw output of one start of a guest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.parsers.program_runs import read_program_runs
from cliffwatch.parsers.readings import Parsed, Problem
from cliffwatch.parsers.splats import Splat
from cliffwatch.parsers.veristat_programs import NO_MEMORY, VerifiedProgram, read_verified
from cliffwatch.samples import PROGRAM_PARAM, CaseKey, CaseOutcome, CaseStatus, Sample
from cliffwatch_runner.guest.boot_end import BootEnd
from cliffwatch_runner.guest.files import read_guest_file
from cliffwatch_runner.results.case_output import last_line, parse_case, program_failure, unsupported_reason


def outcome_of_program(case: PlannedCase, program: VerifiedProgram) -> CaseOutcome:
    """Returns the outcome of one program.

    If the kernel ran out of memory the program failed; it was not refused.
    """
    key = _key(case, program.name)
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
        yield Sample(case=_key(case, program.name), metric=metric, unit=unit, value=value)


def _key(case: PlannedCase, program: str) -> CaseKey:
    return case.key._replace(params=(*case.key.params, (PROGRAM_PARAM, program)))


_MOST_PROBLEMS = 100
_TIMEOUT_STATUSES = (124, 137)
"""Exit statuses of `timeout`: the program ended at the deadline, or had to be killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case of one boot: outcome, samples, and lines that could not be used."""

    outcome: CaseOutcome
    programs: tuple[CaseOutcome, ...] = ()
    """Outcomes of a BPF object's programs, each a case of its own."""

    samples: tuple[Sample, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartEnd:
    """One start of a guest within a boot."""

    end: BootEnd
    cases: tuple[int, ...]
    """Cases that it was to run, in order, by index in the plan."""

    results: Mapping[int, CaseResult]
    """Results of the cases that it began, by index in the plan."""


def case_name(index: int, case: PlannedCase) -> str:
    """Returns the case's name in files: its number in the plan and its benchmark."""
    return f"{index:03d}-{case.key.benchmark}"


def read_case(index: int, case: PlannedCase, folder: Path, end: BootEnd) -> CaseResult | None:
    """Reads the result of a case from the folder of a part; None if this part never started it."""
    name = case_name(index, case)
    status = _status(folder, name)
    if status is None:
        return _unfinished(case, end) if end.last_case == name else None
    stderr = read_guest_file(folder, f"cases/{name}.err") or ""
    stdout = read_guest_file(folder, f"cases/{name}.out") or ""
    splat = next((splat for splat in end.splats if splat.case == name), None)
    unsupported = None if splat is not None else unsupported_reason(status, case, (stdout, stderr))
    if unsupported is not None:
        return CaseResult(outcome=CaseOutcome(case=case.key, status="unsupported", reason=unsupported))
    if case.program is not None and case.program.output == "veristat":
        return _of_object(case, status, _ended(status, case, splat), stdout)
    if case.program is not None and case.program.output == "prog-run":
        return _of_runs(case, status, _ended(status, case, splat), stdout, stderr)
    parsed = parse_case(case, stdout, stderr)
    reason = _ended(status, case, splat) or (
        _failure(status, parsed, stderr)
        if case.program is None
        else program_failure(status, case, parsed, (stdout, stderr)) or _doubt(parsed)
    )
    if reason is not None:
        kind: CaseStatus = "timeout" if status in _TIMEOUT_STATUSES else "failed"
        outcome = CaseOutcome(case=case.key, status=kind, reason=reason)
        return CaseResult(outcome=outcome, problems=parsed.problems)
    return CaseResult(
        outcome=CaseOutcome(case=case.key, status="ok"),
        samples=_samples(case, parsed),
        problems=parsed.problems,
    )


def _status(folder: Path, name: str) -> int | None:
    text = read_guest_file(folder, f"cases/{name}.status", limit=16)
    try:
        return int(text) if text is not None else None
    except ValueError:
        return 255


def _unfinished(case: PlannedCase, end: BootEnd) -> CaseResult | None:
    """Returns the result of the case in which the guest ended.

    If the run was interrupted or the host was too busy, the case is not at fault: it is run again.
    """
    if end.status in ("stopped", "starved"):
        return None
    what = {"panic": "the kernel panicked while it ran", "hang": "the guest hung while it ran"}.get(
        end.status, "the guest ended while it ran"
    )
    title = f": {end.splats[0].title.strip()}" if end.splats else ""
    status: CaseStatus = "timeout" if end.status == "hang" else "panic"
    return CaseResult(outcome=CaseOutcome(case=case.key, status=status, reason=what + title))


def _ended(status: int, case: PlannedCase, splat: Splat | None) -> str | None:
    """Returns why the case counts as failed whatever it printed: it timed out, or the kernel complained."""
    if status in _TIMEOUT_STATUSES:
        return f"not finished after {case.deadline} s of guest time"
    if splat is not None:
        return f"the kernel complained while it ran: {splat.title.strip()}"
    return None


def _of_object(case: PlannedCase, status: int, ended: str | None, said: str) -> CaseResult:
    """Returns the result of a veristat case.

    Nothing is measured if veristat cannot open the object or finds no program.
    """
    verified = read_verified(said)
    reason = ended
    if reason is None and status != 0:
        reason = f"veristat ended with status {status}: {last_line(said)}"
    elif reason is None and not verified.programs and not verified.complaint:
        reason = f"veristat found no program in it: {last_line(said)}"
    if reason is not None:
        return _failed_object(case, status, reason, verified.problems)
    if verified.complaint:
        return CaseResult(outcome=CaseOutcome(case=case.key, status="refused", reason=verified.complaint))
    return CaseResult(
        outcome=CaseOutcome(case=case.key, status="ok"),
        programs=tuple(outcome_of_program(case, each) for each in verified.programs),
        samples=tuple(sample for each in verified.programs for sample in samples_of_program(case, each)),
        problems=verified.problems[:_MOST_PROBLEMS],
    )


def _of_runs(case: PlannedCase, status: int, ended: str | None, said: str, stderr: str) -> CaseResult:
    """Returns the result of a prog-run case."""
    runs = read_program_runs(said)
    reason = ended
    if reason is None and status != 0:
        reason = f"prog-run ended with status {status}: {last_line(stderr) or last_line(said)}"
    if reason is not None:
        return _failed_object(case, status, reason, runs.problems)
    if runs.complaint:
        return CaseResult(outcome=CaseOutcome(case=case.key, status="refused", reason=runs.complaint))
    if not runs.programs:
        outcome = CaseOutcome(case=case.key, status="unsupported", reason="the object has no program")
        return CaseResult(outcome=outcome)
    return CaseResult(
        outcome=CaseOutcome(case=case.key, status="ok"),
        programs=tuple(
            CaseOutcome(case=_key(case, each.name), status=each.status, reason=each.reason)
            for each in runs.programs
        ),
        samples=tuple(
            Sample(case=_key(case, each.name), metric=metric, unit=unit, value=value, readings=readings)
            for each in runs.programs
            for metric, (value, unit, readings) in each.values().items()
        ),
        problems=runs.problems[:_MOST_PROBLEMS],
    )


def _failed_object(case: PlannedCase, status: int, reason: str, problems: Sequence[Problem]) -> CaseResult:
    kind: CaseStatus = "timeout" if status in _TIMEOUT_STATUSES else "failed"
    return CaseResult(
        outcome=CaseOutcome(case=case.key, status=kind, reason=reason),
        problems=tuple(problems[:_MOST_PROBLEMS]),
    )


def _failure(status: int, parsed: Parsed, stderr: str) -> str | None:
    if status != 0:
        return _reason(parsed, stderr) or f"bench ended with status {status} and printed nothing"
    if not parsed.found:
        return _reason(parsed, stderr) or "bench printed nothing that can be read"
    return _doubt(parsed)


def _doubt(parsed: Parsed) -> str | None:
    """Returns why bench's output is doubtful, by the rules for imported files; None if it is not."""
    if not any(each.doubted for each in parsed.found):
        return None
    return next((each.reason for each in parsed.problems if each.lost is not None), "its result is doubtful")


def _reason(parsed: Parsed, stderr: str) -> str:
    return parsed.problems[0].reason if parsed.problems else last_line(stderr)


def _samples(case: PlannedCase, parsed: Parsed) -> tuple[Sample, ...]:
    return tuple(sample._replace(case=case.key) for sample in parsed.samples)
