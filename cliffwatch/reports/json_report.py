"""The report for programs: Comparison JSON (docs/formats.md)."""

from collections.abc import Sequence
from dataclasses import replace

from cliffwatch.comparing.attribution.blocks import rows_with_functions
from cliffwatch.comparing.attribution.changes import CaseFunctions
from cliffwatch.comparing.comparison import METHOD_VERSION, ComparisonSet, SideFacts
from cliffwatch.formats.code.functions import CaseFunctionsRecord, FunctionRecord, MoveRecord
from cliffwatch.formats.comparison import (
    FORMAT,
    FORMAT_VERSION,
    ArmFailureRecord,
    ComparisonDocument,
    ComparisonRow,
    SideRecord,
    WarningRecord,
)
from cliffwatch.formats.reading import document_text
from cliffwatch.formats.values import copy_fields, outcome_record
from cliffwatch.reports.context import ReportContext, executes_same_code


def json_report(compared: ComparisonSet, context: ReportContext) -> str:
    return document_text(comparison_document(compared, context)).decode()


def json_of_arms(compared: Sequence[ComparisonSet], context: ReportContext) -> str:
    return document_text(document_of_arms(compared, context)).decode()


def document_of_arms(compared: Sequence[ComparisonSet], context: ReportContext) -> ComparisonDocument:
    """Builds a document of several arms, each compared with the first arm."""
    first = compared[0]
    named = [(each.head.name, each) for each in compared]
    arms = (_side(first.base.name, first.base), *(_side(name, each.head) for name, each in named))
    return _document(arms, named, context)


def comparison_document(compared: ComparisonSet, context: ReportContext) -> ComparisonDocument:
    """Builds the document of two sides. The document calls them base and head, whatever their names."""
    arms = (_side("base", compared.base), _side("head", compared.head))
    return _document(arms, [("head", compared)], context)


def _document(
    arms: tuple[SideRecord, ...], named: Sequence[tuple[str, ComparisonSet]], context: ReportContext
) -> ComparisonDocument:
    first = named[0][1]
    return ComparisonDocument(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        method_version=METHOD_VERSION,
        arms=arms,
        platform=first.platform,
        mode=first.mode,
        notable=first.notable,
        alpha=first.alpha,
        chosen=context.chosen,
        notes=context.notes,
        warnings=tuple(WarningRecord(arm=arm, text=text) for arm, each in named for text in each.warnings),
        failures=tuple(
            ArmFailureRecord(arm=each.arm, message=each.message, evidence=each.evidence)
            for each in context.failures
        ),
        means=tuple(replace(mean, arm=arm) for arm, each in named for mean in each.means),
        control=None if first.control is None else replace(first.control, arm=arms[0].name),
        sweeps=tuple(replace(sweep, arm=arm) for arm, each in named for sweep in each.sweeps),
        left_out=tuple(
            map(outcome_record, dict.fromkeys(outcome for _, each in named for outcome in each.left_out))
        ),
        comparisons=tuple(
            comparison_row(row, arm, same_code=executes_same_code(each, context, row))
            for arm, each in named
            for row in each.rows
        ),
        functions=tuple(
            _functions(row, arm, found)
            for arm, each in named
            for row, found in rows_with_functions(each, context.functions)
        ),
    )


def _functions(row: ComparisonRow, arm: str, found: CaseFunctions) -> CaseFunctionsRecord:
    return copy_fields(
        CaseFunctionsRecord,
        found,
        suite=row.suite,
        benchmark=row.benchmark,
        params=row.params,
        metric=row.metric,
        arm=arm,
        explained=found.explained,
        functions=tuple(
            copy_fields(
                FunctionRecord,
                each,
                name=each.function.name,
                object=each.function.object,
                verdict=found.verdict_of(each),
            )
            for each in found.changes
        ),
        moves=tuple(
            MoveRecord(
                sources=tuple(function.name for function in each.sources),
                targets=tuple(function.name for function in each.targets),
                change=each.change,
                renamed=each.renamed,
            )
            for each in found.moves
        ),
    )


def _side(name: str, side: SideFacts) -> SideRecord:
    label = side.label.encode(errors="replace").decode()  # a file's name need not be text
    return SideRecord(name=name, label=label, boots=side.boots, layouts=side.layouts, facts=dict(side.facts))


def comparison_row(row: ComparisonRow, arm: str = "head", *, same_code: bool | None = None) -> ComparisonRow:
    """Names the row's arm, and leaves out what only this process knows of its boots."""
    return copy_fields(ComparisonRow, row, arm=arm, same_code=same_code)
