"""The report for a commit message: plain text of at most 72 columns.

Follows the layout that BPF developers merged with commit 68bc61c26cac ("bpf: Allow compiler to inline most of
bpf_local_storage_lookup()"): groups by parameter, before and after, `( ~ )` if a difference is within the
noise.
"""

import textwrap
from collections.abc import Iterator
from itertools import groupby

from cliffwatch.comparing.attribution.blocks import TITLE, function_blocks
from cliffwatch.comparing.comparison import DECIDED, Comparison, ComparisonSet
from cliffwatch.comparing.ordering import list_rows
from cliffwatch.comparing.sweeps.choice import sweep_lines
from cliffwatch.counting import count_noun
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.reports import figures
from cliffwatch.reports.context import ReportContext, code_sentences, describe_measurement
from cliffwatch.reports.legend import describe_threshold, legend
from cliffwatch.reports.styles import visible

WIDTH = 72


def commit_report(compared: ComparisonSet, context: ReportContext) -> str:
    """Writes the environment first, then a group per set of parameters, then means."""
    lines = _wrap_lines(describe_measurement(compared, context))
    for text in context.chosen:
        lines += _wrap_lines(text)
    for warning in compared.warnings:
        lines += _wrap_lines(warning)
    for failure in context.failures:
        lines += ["", *_wrap_lines(f"{failure.arm}: {failure.message}")]
    rows = sorted(compared.rows, key=lambda row: (row.case.suite, row.case.params == ()))
    shared = [
        (cases, row) for cases, row in figures.shared_reasons(compared.rows) if len(cases) > 1 and row.reason
    ]
    below = {(row.verdict, row.reason) for _, row in shared}
    for suite, of_suite in groupby(rows, key=lambda row: row.case.suite):
        lines += ["", cut(f"+---- {suite} ".ljust(WIDTH, "-"))]
        shown = list_rows(list(of_suite))
        for params, group in _by_params(list(shown.rows)):
            lines += [cut(f"| + {params}"), *_group(group, compared.notable, below)]
        lines += [cut(f"| {shown.others}")] if shown.others else []
    if shared:
        lines.append("")
    for cases, row in shared:
        lines += _wrap_lines(f"{figures.shorten_names(cases)}: {figures.explain_inconclusive(row)}")
    lines += ["", *_means(compared), *_functions(compared, context)]
    lines += [""] if context.functions else []
    for sentence in (*code_sentences(compared, context), *legend(compared.rows, compared.means)):
        lines += _wrap_lines(sentence)
    return visible("\n".join(line.rstrip() for line in lines) + "\n")


def _by_params(rows: list[Comparison]) -> Iterator[tuple[str, list[Comparison]]]:
    groups: dict[str, list[Comparison]] = {}
    for row in rows:
        params = ", ".join(f"{name}: {value}" for name, value in row.case.params) or "defaults"
        groups.setdefault(params, []).append(row)
    yield from groups.items()


_Reasons = set[tuple[Verdict, str]]
"""Verdicts with reasons that several cases share. Each stands once, below all tables."""


def _group(rows: list[Comparison], usual: float, below: _Reasons) -> Iterator[str]:
    for benchmark, group in groupby(rows, key=lambda row: row.case.benchmark):
        yield cut(f"| +-+ {_short(benchmark, 36):<36} {'<before> <after>':>20}")
        for row in group:
            yield from _row(row, usual, shares_reason=(row.verdict, row.reason) in below)


def _row(row: Comparison, usual: float, *, shares_reason: bool) -> Iterator[str]:
    """Yields a row's line, then lines on why it is undecided and on an unusual threshold."""
    if row.base is None or row.head is None:
        yield cut(f"|   +- {_short(row.metric or 'case', 24)} {figures.mark_verdict(row.verdict)}")
        yield from _below("" if shares_reason else row.reason)
        return
    change = figures.marked_change(row).replace(" ", "")
    values = f"{_fits(row.base)} {_fits(row.head)} {_short(row.unit, 8):<8}"
    yield cut(f"|   +- {_short(row.metric, 24):<24}{values} ({change:^8})")
    below = [figures.explain_inconclusive(row)] if row.verdict not in DECIDED and not shares_reason else []
    for text in (*below, describe_threshold(row, usual)):
        yield from _below(text or "")


def _below(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, WIDTH - 9, break_on_hyphens=False):
        yield cut(f"|        {line}")


def _fits(number: float) -> str:
    text = figures.value(number)
    return f"{text if len(text) <= 10 else f'{number:.4g}':>10}"


def _means(compared: ComparisonSet) -> Iterator[str]:
    """Yields the geometric mean of each primary metric and unit over rows of both sides, then the sweeps."""
    for mean in compared.means:
        yield cut(f"geomean of {mean.metric}: {figures.mean(mean)} over {count_noun(mean.rows, 'row')}")
    left = sum(row.base is None or row.head is None for row in compared.primary_rows())
    if left:
        yield cut(f"{count_noun(left, 'row is', 'rows are')} missing or failed on a side and in no mean")
    for line in sweep_lines(compared.sweeps):
        yield from _wrap_lines(f"{line.name}: {line.words}")


def _functions(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    """Yields the two most changed functions of each of the three most changed rows."""
    blocks, _ = (
        function_blocks(compared, context.functions, context.code, most=3, each=2)
        if context.functions
        else ((), 0)
    )
    if blocks:
        yield ""
        yield f"{TITLE}:"
    for block in blocks:
        yield from _wrap_lines(f"{block.case}: {block.sentence}")
        for row in block.rows:
            yield cut(f"  {_short(row.name, 36):<36} {row.base:>8} {row.head:>8} {row.change:>9}")
        if block.also:
            yield from (f"  {line}" for line in _wrap_lines(block.also, WIDTH - 2))


def _wrap_lines(text: str, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def cut(line: str) -> str:
    """Cuts a line to the width of a commit message and replaces unprintable characters."""
    printable = "".join(character if character.isprintable() else "?" for character in line)
    return _short(printable, WIDTH)
