"""Reads a comparison from its document, so that a stored comparison can be written in every format."""

from collections.abc import Sequence

import msgspec

from cliffwatch.comparing.comparison import ComparisonSet, SideFacts, took_turns
from cliffwatch.formats.comparison import ComparisonDocument, ComparisonRow, ComparisonSummary, SideRecord


def comparison_set_of(summary: ComparisonSummary, rows: Sequence[ComparisonRow]) -> ComparisonSet:
    """Builds the comparison of two arms from a document.

    Spreads and steps are missing: documents have none.
    """
    return _set(summary, summary.head, rows)


def arm_sets_of(document: ComparisonDocument) -> tuple[ComparisonSet, ...]:
    """Builds the comparisons of a document: each further arm against the first arm."""
    return tuple(_set_of_arm(document, arm) for arm in document.arms[1:])


def _set_of_arm(document: ComparisonDocument, arm: SideRecord) -> ComparisonSet:
    own = msgspec.structs.replace(
        document,
        means=tuple(each for each in document.means if each.arm == arm.name),
        sweeps=tuple(each for each in document.sweeps if each.arm == arm.name),
        warnings=tuple(each for each in document.warnings if each.arm == arm.name),
    )
    return _set(own, arm, [row for row in document.comparisons if row.arm == arm.name])


def _set(summary: ComparisonSummary, head: SideRecord, rows: Sequence[ComparisonRow]) -> ComparisonSet:
    measured: ComparisonSummary | ComparisonRow = rows[0] if rows else summary
    return ComparisonSet(
        base=_side(summary.base),
        head=_side(head),
        platform=measured.platform,
        mode=measured.mode,
        notable=summary.notable,
        alpha=summary.alpha or 0.0,
        rows=tuple(rows),
        left_out=tuple(each.outcome for each in summary.left_out),
        means=summary.means,
        control=summary.control,
        sweeps=summary.sweeps,
        warnings=tuple(each.text for each in summary.warnings),
        took_turns=took_turns(each.text for each in summary.warnings),
    )


def _side(side: SideRecord) -> SideFacts:
    return SideFacts(
        name=side.name, label=side.label, facts=side.facts, boots=side.boots, layouts=side.layouts
    )
