"""How a verdict came about, step by step, with the numbers."""

import fnmatch

from cliffwatch.comparing.comparison import METHOD_VERSION, Comparison, ComparisonSet
from cliffwatch.reports.styles import visible
from cliffwatch.samples import CaseKey


def explain_report(compared: ComparisonSet, pattern: str) -> str | None:
    """Of every case whose name matches the pattern (a part of it, or with `*`); None where none does."""
    chosen = [row for row in compared.rows if matches(row.case, pattern)]
    if not chosen:
        return None
    blocks = ["\n".join(_explained(row)) for row in chosen]
    return visible("\n\n".join([*blocks, f"Method {METHOD_VERSION}; docs/method.md says why."]) + "\n")


def matches(case: CaseKey, pattern: str) -> bool:
    """Whether a pattern names a case: a part of its name, or all of it with `*`."""
    name = f"{case.suite}/{case}"
    return fnmatch.fnmatchcase(name, pattern if "*" in pattern else f"*{pattern}*")


def _explained(row: Comparison) -> list[str]:
    head = f"{row.case.suite}/{row.case}  {row.metric} in {row.unit}: {row.verdict}"
    steps = row.steps or (row.reason,)
    lines = [f"  {number}. {step}" for number, step in enumerate(steps, start=1)]
    return [head, *lines, *(f"  also: {note}" for note in row.notes)]
