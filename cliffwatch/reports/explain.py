"""Explains verdicts step by step, with the numbers."""

import fnmatch
from collections.abc import Iterator

from cliffwatch.comparing.attribution.blocks import block_of, of_row, text_lines
from cliffwatch.comparing.attribution.programs import program_blocks, program_lines
from cliffwatch.comparing.comparison import METHOD_VERSION, ComparisonSet
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.context import NO_CONTEXT, ReportContext, executes_same_code
from cliffwatch.reports.legend import placement
from cliffwatch.reports.styles import visible
from cliffwatch.samples import CaseKey


def explain_report(compared: ComparisonSet, pattern: str, context: ReportContext = NO_CONTEXT) -> str | None:
    """Explains all cases that match the pattern (see `matches`); None if no case matches."""
    chosen = [row for row in compared.rows if matches(row.case, pattern)]
    if not chosen:
        return None
    blocks = [
        "\n".join(
            [
                *_explain_row(row),
                *_code(compared, context, row),
                *_functions(compared, context, row),
                *_programs(compared, context, row),
            ]
        )
        for row in chosen
    ]
    above = ["\n".join(compared.warnings)] if compared.warnings else []
    below = [] if compared.control is None else [figures.control(compared.control)]
    below.append(f"Method {METHOD_VERSION}; docs/method.md says why.")
    return visible("\n\n".join([*above, *blocks, "\n".join(below)]) + "\n")


def matches(case: CaseKey, pattern: str) -> bool:
    """True if a pattern matches a case: part of its name, or its whole name with `*` as a wildcard."""
    name = f"{case.suite}/{case}"
    return fnmatch.fnmatchcase(name, pattern if "*" in pattern else f"*{pattern}*")


def _code(compared: ComparisonSet, context: ReportContext, row: ComparisonRow) -> Iterator[str]:
    """Says whether both sides execute the same code, according to its digests."""
    same = executes_same_code(compared, context, row)
    if same is not None:
        digests = context.case_code[row.case.planned]
        over = f"{count_noun(digests.functions, 'executed function')}"
        yield (
            f"  same code in {compared.base.name} and {compared.head.name}, by {over}:"
            " any difference is noise"
            if same
            else (
                f"  code that it executes differs between {compared.base.name} and {compared.head.name}, by"
                f" {over}"
            )
        )


def _functions(compared: ComparisonSet, context: ReportContext, row: ComparisonRow) -> Iterator[str]:
    found = of_row(compared, context.functions, row) if context.functions else None
    if found is None:
        return
    block = block_of(row.case, found, context.code.get(compared.head.name))
    title, *rest = text_lines(block)
    yield f"  functions, in instructions per operation: {title.rpartition(': ')[2]}"
    yield from rest
    for each in block.rows:
        if each.difference:
            yield f"  code of {each.name}, base against head:"
            yield from (f"    {line}" for line in each.difference)


def _programs(compared: ComparisonSet, context: ReportContext, row: ComparisonRow) -> Iterator[str]:
    """Lists the BPF programs of the case whose code differs, below its primary metrics, changed or not."""
    if row.primary:
        yield from program_lines(program_blocks(context.images.get(compared.head.name), row.case))


def _explain_row(row: ComparisonRow) -> list[str]:
    what = row.unit if row.metric == row.unit else f"{row.metric} in {row.unit}"
    head = f"{row.suite}/{row.case}  {what}: {row.verdict}"
    steps = row.steps or (row.reason,)
    lines = [f"  {number}. {step}" for number, step in enumerate(steps, start=1)]
    notes = (*row.notes, *filter(None, [placement(row)]))
    return [head, *lines, *(f"  also: {note}" for note in notes)]
