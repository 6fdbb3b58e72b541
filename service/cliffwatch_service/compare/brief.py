"""The brief answer to "what did this commit change?": at most 2 KB, for programs and language models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any

import orjson
from psycopg import Connection

from cliffwatch.comparing.attribution.documents import blocks_of_document
from cliffwatch.comparing.comparison import CHANGES, size_of
from cliffwatch.comparing.ordering import detectable, standing
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports.figures import control_words
from cliffwatch.reports.several.across import Across, Target, across
from cliffwatch_service.compare.answering import answer_sentences, are_in_turns
from cliffwatch_service.compare.filters import Filters
from cliffwatch_service.compare.pairing import NEAREST, Answer, find_answers, targets_of
from cliffwatch_service.compare.stored import read_stored_rows
from cliffwatch_service.refusal import Refusal

LARGEST_BYTES = 2048
"""Of the answer as JSON. The smallest changes are left out until it fits."""

_MOST_CHANGES = 5
_MOST_CAUSES = 2
_LONGEST_TEXT = 160
"""Characters of a commit's subject."""

_LONGEST_SENTENCE = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefTarget:
    platform: str
    mode: str
    base: str
    """First 12 digits of the commit it is compared with."""
    counts: Mapping[str, int]
    """Rows by verdict, without zeros."""
    detectable: float | None
    """Every unchanged row could have shown a change of this size, a fraction; None if unknown."""
    check: str
    """What base showed against itself; empty if that was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefChange:
    """A reported change of one case on one target."""

    case: str
    metric: str
    unit: str
    platform: str
    verdict: str
    base: float | None
    head: float | None
    change: float | None
    """A fraction of base; None if base is zero."""
    ci: tuple[float | None, float | None]
    """Bounds of the change's interval."""
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a commit changed, compared with the nearest measured ancestor or with a named base."""

    commit: str
    subject: str
    measured: bool
    verdict: str | None
    """The worst verdict of the rows: `both` for regressions beside improvements, `trouble` for rows that
    failed, are missing or invalid. None if nothing was measured.
    """
    sentence: str
    """The result in one or two sentences; for a commit without a result why there is none and what to do."""
    warnings: Sequence[str] = ()
    """Sentences without which nothing of a target should be read, each with its names."""
    in_turns: bool = True
    """False if base and head were measured one after the other: differences may then be the host's."""
    targets: Sequence[BriefTarget] = ()
    changes: Sequence[BriefChange] = ()
    """The largest reported changes."""
    more_changes: int = 0
    """Reported changes that are not listed."""
    causes: Sequence[str] = ()
    """Functions behind the changes, where instructions were counted per function."""
    url: str = ""
    """The page with every row."""


def brief_answer(
    connection: Connection[Any], base: str, head: str, filters: Filters, pages: str, now: datetime
) -> Brief:
    """Answers for a commit; `pages` is the address that the pages are reached by.

    Raises Refusal for a name that no commit can have or several have, and while the comparison is made.
    """
    try:
        found = find_answers(connection, base, head, filters.platform or None, filters.mode or None, now)
    except Refusal as refusal:
        if refusal.status != 404:
            raise
        return Brief(commit=head, subject="", measured=False, verdict=None, sentence=refusal.detail)
    if found.pending:
        raise Refusal(
            503, "being compared", "the comparison is being made: ask again in 10 s", retry_after=10
        )
    rows = [read_stored_rows(connection, each.comparison.id) for each in found.answers]
    suites = sorted({row.suite for of_target in rows for row in of_target})
    head_row = found.head
    subject = (head_row.subject or "")[:_LONGEST_TEXT]
    if filters.suite and filters.suite not in suites:
        sentence = f"suite {filters.suite} was not compared for this commit, but {', '.join(suites)}"
        return Brief(commit=head_row.commit, subject=subject, measured=False, verdict=None, sentence=sentence)
    ours = base if base == NEAREST else found.answers[0].target.base.commit[:12]
    url = f"{pages}/compare/{ours}...{head_row.commit[:12]}"
    targets = targets_of(found.answers)
    chosen = filters.choose(across(rows), targets)
    brief = Brief(
        commit=head_row.commit,
        subject=subject,
        measured=True,
        verdict=standing(_count([cell for row in chosen for cell in row.judged])),
        sentence=str(answer_sentences(found.answers, chosen, filters.suite))[:_LONGEST_SENTENCE],
        warnings=_warnings(found.answers, targets),
        in_turns=are_in_turns(found.answers),
        targets=list(_targets(found.answers, chosen)),
        changes=_changes(chosen, url),
        causes=list(_causes(found.answers, filters))[:_MOST_CAUSES],
        url=url,
    )
    return _shorten(brief)


def _count(cells: Sequence[ComparisonRow]) -> dict[str, int]:
    verdicts = sorted(cell.verdict for cell in cells)
    return {verdict: len(list(group)) for verdict, group in groupby(verdicts)}


def _warnings(found: Sequence[Answer], targets: Sequence[Target]) -> list[str]:
    of_texts: dict[str, list[str]] = {}
    for each, target in zip(found, targets, strict=True):
        for warning in each.summary.warnings:
            of_texts.setdefault(warning.text, []).append(target.name)
    return [f"{', '.join(names)}: {text}" for text, names in of_texts.items()]


def _targets(found: Sequence[Answer], rows: Sequence[Across]) -> Iterator[BriefTarget]:
    """The targets that measured any of the rows."""
    for index, answer in enumerate(found):
        cells = [cell for row in rows if (cell := row.cells[index]) is not None]
        if cells:
            reach = detectable(cells)
            yield BriefTarget(
                platform=answer.target.platform,
                mode=answer.target.mode,
                base=answer.target.base.commit[:12],
                counts=_count(cells),
                detectable=None if reach is None else _rounded(reach.largest),
                check=control_words(answer.summary.control) if answer.summary.control else "",
            )


def _changes(rows: Sequence[Across], url: str) -> list[BriefChange]:
    """Every reported change, the largest first."""
    changed = [
        (size_of(cell), row, cell)
        for row in rows
        for cell in row.cells
        if cell is not None and cell.verdict in CHANGES
    ]
    return [_change(row, cell, url) for _, row, cell in sorted(changed, key=lambda each: -each[0])]


def _change(row: Across, cell: ComparisonRow, url: str) -> BriefChange:
    params = "".join(f" {name}={value}" for name, value in row.params.items())
    return BriefChange(
        case=f"{row.suite}/{row.benchmark}{params}",
        metric=cell.metric,
        unit=cell.unit,
        platform=cell.platform or "",
        verdict=cell.verdict,
        base=_rounded(cell.base),
        head=_rounded(cell.head),
        change=_rounded(cell.change),
        ci=(_rounded(cell.ci_low), _rounded(cell.ci_high)),
        url=f"{url}/cases/{row.path}",
    )


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.6g}")


def _causes(found: Sequence[Answer], filters: Filters) -> Iterator[str]:
    """One sentence per cause: the case, the functions, and what they explain."""
    for answer in found:
        records = [each for each in answer.summary.functions if filters.suite in ("", each.suite)]
        for block in blocks_of_document(records, most=2, each=2)[0]:
            functions = ", ".join(f"{row.name} {row.base} to {row.head}" for row in block.rows)
            said = f"{block.sentence}: {functions}" if block.hidden else functions
            yield f"{block.case}: {said} instructions per operation"[: 2 * _LONGEST_TEXT]


def _shorten(brief: Brief) -> Brief:
    """Leaves out the smallest changes, then causes, then targets, until the answer is small enough."""
    every = len(brief.changes)
    for kept in range(min(_MOST_CHANGES, every), -1, -1):
        shorter = replace(brief, changes=brief.changes[:kept], more_changes=every - kept)
        if len(as_json(shorter)) <= LARGEST_BYTES:
            return shorter
    without = replace(shorter, causes=())
    return without if len(as_json(without)) <= LARGEST_BYTES else replace(without, targets=())


def as_json(brief: Brief) -> bytes:
    return orjson.dumps(asdict(brief))
