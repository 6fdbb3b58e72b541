"""The report on releases as Markdown: the form for a repository, a mail or a review."""

from collections.abc import Iterable, Iterator, Sequence

from cliffwatch.counting import count_noun
from cliffwatch.reports import figures
from cliffwatch.reports.several.releases import gaps, words
from cliffwatch.reports.several.releases.audit import Audit, AuditRow, Step, SuiteAudit
from cliffwatch.reports.styles import visible

_MOST_ROWS = 400
_MOST_MOVED = 20


def markdown_of(audit: Audit) -> str:
    return visible("\n".join(_lines(audit)) + "\n")


def _lines(audit: Audit) -> Iterator[str]:
    yield f"# {words.title(audit)}"
    yield ""
    yield f"{words.setting(audit)}. {words.HOW}"
    yield ""
    yield words.SIGNS
    yield ""
    yield from (f"- {line}" for line in words.counts(audit))
    yield from (f"- {note}" for note in (words.configurations(audit), *audit.notes) if note)
    for heading, steps in words.largest(audit):
        yield from _largest(heading, steps)
    yield from _moved(audit)
    yield from _kernels(audit)
    for suite in audit.suites:
        yield from _suite(audit, suite)


def _largest(heading: str, steps: Sequence[tuple[AuditRow, Step]]) -> Iterator[str]:
    yield from ("", f"## {heading}", "")
    if not steps:
        yield "None."
        return
    yield from _table(
        ("suite", "case", "from", "to", "before", "after", "unit", "change", words.FUNCTIONS),
        (
            (
                row.case.suite,
                words.row_name(row),
                step.earlier,
                step.later,
                figures.value(step.row.base),
                figures.value(step.row.head),
                row.unit,
                words.change(step),
                words.cause(step),
            )
            for row, step in steps
        ),
    )


def _moved(audit: Audit) -> Iterator[str]:
    found = list(words.moved(audit))
    if not found:
        return
    yield from ("", "## Cost that moved between functions", "")
    yield from (f"- {line}" for line in found[:_MOST_MOVED])
    if len(found) > _MOST_MOVED:
        yield f"- and {len(found) - _MOST_MOVED} more"


def _kernels(audit: Audit) -> Iterator[str]:
    yield from ("", "## Kernels", "")
    yield from _table(
        ("release", "version", "commit", *words.SECTIONS),
        (
            (
                each.name,
                each.version,
                each.commit[:12],
                *(f"{each.sections[part]:,}" if part in each.sections else "-" for part in words.SECTIONS),
            )
            for each in audit.releases
        ),
    )
    yield from (
        "",
        "Sizes in bytes. Options of the configuration that a release lacks or sets otherwise:",
        "",
    )
    for each in audit.releases:
        yield f"- {each.name}: {'; '.join(each.config_notes) or 'nothing'}"


def _suite(audit: Audit, suite: SuiteAudit) -> Iterator[str]:
    yield from ("", f"## {suite.name}", "")
    names = [release.name for release in audit.releases]
    steps = [f"to {name}" for name in names[1:]]
    if suite.rows:
        yield from _table(
            ("case", "unit", *names, *steps, "bench"),
            (
                (
                    words.row_name(row),
                    row.unit,
                    *words.values(row),
                    *map(words.change, row.steps),
                    words.bench(row),
                )
                for row in suite.rows[:_MOST_ROWS]
            ),
        )
    if len(suite.rows) > _MOST_ROWS:
        yield from ("", f"{count_noun(len(suite.rows) - _MOST_ROWS, 'more row')}: in the data.")
    told = [
        *(
            f"{a} to {b}, {sweep.benchmark} over {sweep.parameter}: {sweep.words}"
            for a, b, sweep in suite.sweeps
        ),
        *gaps.unmeasured(suite, audit.releases),
        *gaps.unjudged(suite),
        *gaps.unreported(suite),
        *suite.notes,
    ]
    if told:
        yield ""
        yield from (f"- {' '.join(line.split())}" for line in told)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(head)
    yield _line(["---"] * len(head))
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"
