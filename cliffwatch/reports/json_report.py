"""The report for programs: Comparison JSON (docs/formats.md)."""

from cliffwatch.comparing.comparison import METHOD_VERSION, Comparison, ComparisonSet, SideFacts
from cliffwatch.formats.comparison import (
    FORMAT,
    FORMAT_VERSION,
    ArmFailureRecord,
    ComparisonDocument,
    ComparisonRow,
    SideRecord,
)
from cliffwatch.formats.reading import written
from cliffwatch.formats.values import outcome_record
from cliffwatch.reports.context import ReportContext


def json_report(compared: ComparisonSet, context: ReportContext) -> str:
    return written(comparison_document(compared, context)).decode()


def comparison_document(compared: ComparisonSet, context: ReportContext) -> ComparisonDocument:
    return ComparisonDocument(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        method_version=METHOD_VERSION,
        arms=(_side("base", compared.base), _side("head", compared.head)),
        platform=compared.platform,
        mode=compared.mode,
        notable=compared.notable,
        alpha=compared.alpha,
        warnings=compared.warnings,
        failures=tuple(
            ArmFailureRecord(arm=each.arm, message=each.message, evidence=each.evidence) for each in context.failures
        ),
        means=compared.means,
        control=compared.control,
        sweeps=compared.sweeps,
        left_out=tuple(map(outcome_record, compared.left_out)),
        comparisons=tuple(map(comparison_row, compared.rows)),
    )


def _side(name: str, side: SideFacts) -> SideRecord:
    return SideRecord(name=name, label=side.label, boots=side.boots, facts=dict(side.facts))


def comparison_row(row: Comparison) -> ComparisonRow:
    """A row as documents, the service and its pages have it."""
    return ComparisonRow(
        suite=row.case.suite,
        benchmark=row.case.benchmark,
        params=dict(row.case.params),
        metric=row.metric,
        unit=row.unit,
        better=row.better,
        platform=row.platform,
        mode=row.mode,
        n_base=row.n_base,
        n_head=row.n_head,
        base=row.base,
        head=row.head,
        change=row.change,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        p=row.p,
        q=row.q,
        mde=row.mde,
        threshold=row.threshold,
        interval_level=row.interval_level,
        verdict=row.verdict,
        reason=row.reason,
        needs=row.needs,
        notes=row.notes,
        primary=row.primary,
    )
