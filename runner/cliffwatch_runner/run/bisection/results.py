"""Turns a completed bisection into its document. Steps of the same commits form one culprit."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.reading import as_json
from cliffwatch.samples import Mode
from cliffwatch.stats.history.culprits.question import Step
from cliffwatch_runner.run.bisection.bisecting import Bisected, Order, row_name
from cliffwatch_runner.run.bisection.commits import describe_commit
from cliffwatch_runner.run.bisection.document import (
    FORMAT,
    FORMAT_VERSION,
    BisectionDocument,
    CommitRecord,
    CulpritRecord,
    EndsRow,
    ErrorRecord,
    SizeRecord,
    SkippedRecord,
)


def document_of(order: Order, ended: Bisected, repository: Path, log: Path) -> BisectionDocument:
    """Returns the document of a bisection. `log` is the path of the log for `git bisect replay`."""

    @cache
    def commit(name: str) -> CommitRecord:
        facts = describe_commit(repository, name)
        return CommitRecord(
            commit=facts.commit,
            author=facts.author,
            date=facts.date,
            subject=facts.subject,
            subsystem=facts.subsystem,
            paths=facts.paths,
        )

    found, history = ended.found, order.history
    of_commits: dict[tuple[str, ...], list[Step]] = {}
    for step in found.steps if found is not None else ():
        of_commits.setdefault(step.commits, []).append(step)
    modes = ended.tried if found is None else {ended.mode: ended.ends}
    skipped = tuple(
        SkippedRecord(commit=name, reason=reason[:4000]) for name, reason in ended.skipped.items()
    )
    return BisectionDocument(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        good=commit(history.good),
        bad=commit(history.bad),
        sought=order.sought,
        mode=ended.mode,
        platform=next((row.platform for row in ended.ends), None),
        host_faults=ended.host_faults,
        between=len(history.between),
        measured=len({name for pair in ended.compared for name in pair} - ended.skipped.keys()),
        skipped=skipped,
        outcome="not-shown" if found is None else "culprits",
        ends=tuple(_ends_row(row, mode) for mode, rows in modes.items() for row in rows),
        culprits=tuple(
            CulpritRecord(
                commits=tuple(commit(name) for name in commits),
                worse=_sizes(ended, [step for step in steps if step.way == "regression"]),
                better=_sizes(ended, [step for step in steps if step.way == "improvement"]),
            )
            for commits, steps in of_commits.items()
        ),
        error=None if ended.stated is None else ErrorRecord(**as_json(ended.stated)),
        cut=found.cut if found is not None else (),
        log=str(log),
    )


def _ends_row(row: ComparisonRow, mode: Mode) -> EndsRow:
    return EndsRow(
        suite=row.case.suite,
        benchmark=row.case.benchmark,
        params=dict(row.case.params),
        metric=row.metric,
        unit=row.unit,
        mode=mode,
        base=row.base,
        head=row.head,
        change=row.change,
        mde=row.mde,
        verdict=row.verdict,
        reason=row.reason,
    )


def _sizes(ended: Bisected, steps: Sequence[Step]) -> tuple[SizeRecord, ...]:
    return tuple(_size(ended, step) for step in steps)


def _size(ended: Bisected, step: Step) -> SizeRecord:
    about = next(row for row in ended.ends if row_name(row) == step.row)
    row = next((each for each in ended.compared.get(step.pair, ()) if row_name(each) == step.row), None)
    base, head, change = (None, None, None) if row is None else (row.base, row.head, row.change)
    if step.own is not None and base:
        head, change = base + step.own, step.own / base
    return SizeRecord(
        suite=about.case.suite,
        benchmark=about.case.benchmark,
        params=dict(about.case.params),
        metric=about.metric,
        unit=about.unit,
        way=step.way,
        before=step.pair.base,
        after=step.pair.head,
        base=base,
        head=head,
        change=change,
        own=step.own is not None,
    )
