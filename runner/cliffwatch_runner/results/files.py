"""Writes the files of the result directory (docs/formats.md). A file gets its name once it is complete."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from cliffwatch.formats.boot_record import (
    BootRecord,
    EnvironmentRecord,
    PartRecord,
    ProblemRecord,
    SampleRecord,
    SamplesRecord,
    SplatRecord,
    sample_record,
)
from cliffwatch.formats.reading import as_json, convert_to, document_text
from cliffwatch.formats.values import OfCase, OutcomeRecord, Part, outcome_record
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseKey, CaseOutcome
from cliffwatch_runner.guest.environment import guest_environment
from cliffwatch_runner.guest.files import read_guest_file
from cliffwatch_runner.plan.plan import Plan, PlannedBoot
from cliffwatch_runner.results.outcomes import CaseResult, PartEnd


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Writes JSON that has no document type."""
    _write(path, f"{json.dumps(content, indent=1, allow_nan=False)}\n".encode())


def write_document(path: Path, document: Part) -> None:
    _write(path, document_text(document))


def write_text(path: Path, text: str) -> None:
    """Writes a text. Characters that UTF-8 does not have become `?`."""
    _write(path, text.encode("utf-8", errors="replace"))


def _write(path: Path, content: bytes) -> None:
    with open_replacing(path) as file:
        file.write(content)


@contextmanager
def open_replacing(path: Path) -> Iterator[BinaryIO]:
    """Opens a file that takes the place of `path` at the end: after a crash it is complete or absent.

    A link at `path` is replaced, not followed. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.writing")
    temporary.unlink(missing_ok=True)  # a crash left it, or somebody linked it elsewhere
    with temporary.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def finished_boot(run: Path, boot: PlannedBoot) -> bool:
    """True if the boot is done: `boot.json` is written last."""
    return (run / "boots" / boot.folder / "boot.json").exists()


def set_aside(home: Path) -> None:
    """Renames the folder of an interrupted boot.

    The boot starts anew, and its earlier measurements are kept.
    """
    if not home.exists():
        return
    home.replace(_aside(home, 1 + _set_aside_before(home)))


def interruptions(run: Path, boot: PlannedBoot) -> int:
    """Returns how often the boot began and was interrupted. 0 for a boot that is done or never began."""
    home = run / "boots" / boot.folder
    return 0 if finished_boot(run, boot) else _set_aside_before(home) + home.exists()


def _set_aside_before(home: Path) -> int:
    number = 0
    while _aside(home, number + 1).exists():
        number += 1
    return number


def _aside(home: Path, number: int) -> Path:
    return home.with_name(f"{home.name}.interrupted-{number}")


def write_boot(
    home: Path, plan: Plan, boot: PlannedBoot, parts: Sequence[PartEnd], *, began: datetime, ended: datetime
) -> None:
    """Writes environment.json, samples.json and finally boot.json."""
    results = {index: result for part in parts for index, result in part.results.items()}
    write_document(home / "environment.json", _environment(home, len(parts)))
    write_document(home / "samples.json", _samples(plan, boot, results, _missed(parts)))
    about = BootRecord(
        index=boot.index,
        block=boot.block,
        arm=boot.arm,
        stage=boot.stage,
        layout=None if boot.layout is None else f"layout-{boot.layout}",
        attempt=1 + _set_aside_before(home),
        began=began.isoformat(),
        ended=ended.isoformat(),
        status=_boot_status(boot, results, parts),
        parts=tuple(map(_part, parts)),
    )
    write_document(home / "boot.json", about)


def _environment(home: Path, parts: int) -> EnvironmentRecord:
    names = ("facts", "config", "config-from", "stat-after")
    texts = [read_guest_file(home / "1", f"guest/{name}") or "" for name in names]
    return guest_environment(*texts, parts=parts)


def _missed(parts: Sequence[PartEnd]) -> str:
    """Returns why a case was not started."""
    last = parts[-1].end if parts else None
    if last is not None and last.status == "refused" and last.evidence:
        return f"the guest was refused: {last.evidence.splitlines()[0]}"[:300]
    return "the guest did not reach it"


def _samples(plan: Plan, boot: PlannedBoot, results: Mapping[int, CaseResult], missed: str) -> SamplesRecord:
    samples: list[SampleRecord] = []
    outcomes: list[OutcomeRecord] = []
    problems: list[ProblemRecord] = []
    for index in boot.cases:
        case = plan.cases[index].key
        result = results.get(index)
        if result is None:
            outcomes.append(outcome_record(CaseOutcome(case=case, status="not-run", reason=missed)))
            continue
        odd = [
            Problem(line=0, text=text, reason="a result of this name cannot be stored")
            for text in _odd(result)
        ]
        outcomes.append(outcome_record(result.outcome))
        outcomes += [each for each in map(outcome_record, result.programs) if not _wrong(each)]
        samples += [each for each in map(sample_record, result.samples) if not _wrong(each)]
        problems += [_problem(case, problem) for problem in (*result.problems, *odd)]
    return SamplesRecord(samples=tuple(samples), outcomes=tuple(outcomes), problems=tuple(problems))


def _odd(result: CaseResult) -> Iterator[str]:
    """Yields what is wrong with results that could not be read back. Programs may print any names."""
    for record in (*map(outcome_record, result.programs), *map(sample_record, result.samples)):
        wrong = _wrong(record)
        if wrong:
            yield str(wrong)


def _wrong(record: OfCase) -> Problem | None:
    read = convert_to(as_json(record), type(record))
    return read if isinstance(read, Problem) else None


def _problem(case: CaseKey, problem: Problem) -> ProblemRecord:
    return ProblemRecord(
        suite=case.suite,
        benchmark=case.benchmark,
        params=dict(case.params),
        line=problem.line,
        text=problem.text,
        reason=problem.reason,
    )


def _boot_status(boot: PlannedBoot, results: Mapping[int, CaseResult], parts: Sequence[PartEnd]) -> str:
    if all(index in results for index in boot.cases):
        return "complete"
    return parts[-1].end.status if parts else "stopped"


def _part(part: PartEnd) -> PartRecord:
    end = part.end
    return PartRecord(
        status=end.status,
        seconds=round(end.seconds, 3),
        last_case=end.last_case,
        evidence=end.evidence[-8000:],
        splats=tuple(
            SplatRecord(title=each.title, text=each.text, case=each.case) for each in end.splats[:20]
        ),
        unexpected_files=end.unexpected_files,
    )
