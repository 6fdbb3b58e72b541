"""The report on releases for a terminal: what changed most, and where the rest is."""

from collections.abc import Iterator, Sequence

from cliffwatch.reports import figures
from cliffwatch.reports.several.releases import words
from cliffwatch.reports.several.releases.audit import Audit, AuditRow, Step
from cliffwatch.reports.styles import visible


def text_of(audit: Audit) -> str:
    return visible("\n".join(_lines(audit)) + "\n")


def _lines(audit: Audit) -> Iterator[str]:
    yield words.title(audit)
    yield words.setting(audit)
    yield from words.counts(audit)
    yield from filter(None, (words.configurations(audit), *audit.notes))
    for heading, steps in words.largest(audit):
        yield from ("", heading)
        yield from _aligned(list(_cells(steps))) or ("  none",)


def _cells(steps: Sequence[tuple[AuditRow, Step]]) -> Iterator[tuple[str, ...]]:
    for row, step in steps:
        yield (
            f"  {row.case.suite}: {words.row_name(row)}",
            f"{step.earlier} to {step.later}",
            figures.value(step.row.base),
            figures.value(step.row.head),
            row.unit,
            words.change(step),
        )


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in (2, 3, 5) else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
