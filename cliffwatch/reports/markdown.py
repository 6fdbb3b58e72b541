"""The report for a pull request: what changed first, everything else folded away."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from cliffwatch.comparing.comparison import Comparison, ComparisonSet
from cliffwatch.counting import counted
from cliffwatch.reports import figures
from cliffwatch.reports.context import SIGHT, ReportContext, sentence, trials
from cliffwatch.reports.legend import legend, thresholds_differ
from cliffwatch.reports.markdown_text import block, code, inert, length, word

_ESCAPED = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]#|~"} | {"<": "&lt;", ">": "&gt;"})
LONGEST = 60_000
"""Characters; a comment on GitHub may have 65,536."""


def markdown_report(compared: ComparisonSet, context: ReportContext) -> str:
    """At most `LONGEST` characters; rows that do not fit are counted, the changed ones stay."""
    lines = [f"### {sentence(compared)}", ""]
    for failure in context.failures:
        lines += [f"**{_text(failure.arm)}: {_text(failure.message)}**", "", *block(failure.evidence, lines=30), ""]
    lines += [f"{code(compared.base.label)} → {code(compared.head.label)}  ", _where(compared, context), ""]
    rows = compared.primary_rows()
    changed = compared.changed_rows()
    if changed:
        lines += [*_table(changed, thresholds=thresholds_differ(rows)), ""]
    lines += [f"- {code(str(row.case))}: {_text(figures.undecided(row))}" for row in compared.open_rows()]
    lines += [f"- {code(sweep.benchmark)}: {_text(sweep.words)}" for sweep in compared.sweeps]
    lines += ["", *_footer(compared, context)]
    return inert(_folded("\n".join(lines), rows))


def _where(compared: ComparisonSet, context: ReportContext) -> str:
    facts = [
        trials(compared),
        compared.mode or "unknown mode",
        compared.platform or "unknown platform",
        *context.setting,
    ]
    return _text(", ".join(facts))


def _table(rows: Sequence[Comparison], *, thresholds: bool) -> Iterator[str]:
    """`thresholds`: whether rows of the report have different ones, so that each says its own."""
    more = ("threshold",) if thresholds else ()
    yield f"| {' | '.join(('case', 'base', 'head', 'unit', 'change', 'interval', 'n', *more, 'verdict'))} |"
    yield f"|---|--:|--:|---|--:|--:|--:|{'--:|' * len(more)}---|"
    for row in rows:
        cells = (
            code(str(row.case)),
            figures.value(row.base),
            figures.value(row.head),
            word(row.unit),
            figures.change(row).replace("~", "\\~"),
            figures.interval(row),
            figures.counts(row),
            *(figures.size(row.threshold) for _ in more),
            figures.marked(row.verdict),
        )
        yield f"| {' | '.join(cells)} |"


def _footer(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    for mean in compared.means:
        yield f"Geometric mean of {_text(mean.metric)}: {figures.mean(mean)} over {counted(mean.rows, 'row')}.  "
    if compared.control is not None:
        yield f"{figures.control(compared.control)}.  "
    if compared.mode is not None:
        yield f"{SIGHT[compared.mode]}.  "
    for line in legend(compared.primary_rows(), compared.means):
        yield f"{_text(line)}  "
    for note in context.notes:
        yield f"{_text(note)}  "


def _folded(text: str, rows: Sequence[Comparison]) -> str:
    """All rows behind a fold, suite by suite, as long as there is room."""
    parts, left, differ = [text], 0, thresholds_differ(rows)
    room = LONGEST - length(text)
    for suite, group in groupby(rows, key=lambda row: row.case.suite):
        of_suite = list(group)
        body = "\n".join(_table(of_suite, thresholds=differ))
        part = f"\n<details><summary><code>{escape(suite)}</code>: {counted(len(of_suite), 'case')}</summary>\n\n{body}\n\n</details>"
        if length(part) > room:
            left += len(of_suite)
            continue
        room -= length(part)
        parts.append(part)
    if left:
        parts.append(f"\n{counted(left, 'more case does', 'more cases do')} not fit here.")
    return "\n".join(parts)[: LONGEST + 1000] + "\n"


def _text(text: str) -> str:
    """Sentences that cannot become markup, a mention, a reference or a link."""
    escaped = " ".join(text.translate(_ESCAPED).split())
    for start, rest in (("@", ""), ("\\#", ""), (":", "//"), ("www", "."), ("GH", "-")):
        escaped = escaped.replace(f"{start}{rest}", f"{start}\N{ZERO WIDTH SPACE}{rest}")
    return escaped
