"""The functions behind the rows of a document, as reports need them."""

from collections.abc import Iterable

from cliffwatch.comparing.attribution.blocks import FunctionBlock, blocks_of_cases
from cliffwatch.comparing.attribution.changes import CaseFunctions, FunctionChange, Functions, Move
from cliffwatch.comparing.attribution.operations import Function
from cliffwatch.formats.code.functions import CaseFunctionsRecord


def functions_of_document(records: Iterable[CaseFunctionsRecord]) -> Functions:
    """By the name of the head's arm, case and metric."""
    return {(each.arm, (each.case, each.metric)): _functions(each) for each in records}


def blocks_of_document(
    records: Iterable[CaseFunctionsRecord], *, most: int, each: int
) -> tuple[tuple[FunctionBlock, ...], int]:
    """One block per cause, largest change first. Also returns how many cases have no block."""
    ordered = sorted(records, key=lambda record: -abs(record.head / record.base - 1) if record.base else 0.0)
    return blocks_of_cases([(record.case, _functions(record)) for record in ordered], most=most, each=each)


def _functions(record: CaseFunctionsRecord) -> CaseFunctions:
    changes = tuple(
        FunctionChange(
            Function(each.object, each.name),
            each.base,
            each.head,
            each.base_calls,
            each.head_calls,
            each.of_case,
        )
        for each in record.functions
    )
    named = {each.function.name: each.function for each in changes}
    return CaseFunctions(
        base=record.base,
        head=record.head,
        summed=record.summed,
        band=record.band,
        changes=changes,
        moves=tuple(
            Move(
                tuple(named[name] for name in each.sources),
                tuple(named[name] for name in each.targets),
                each.change,
                each.renamed,
            )
            for each in record.moves
            if named.keys() >= {*each.sources, *each.targets}
        ),
        hidden_in=record.hidden_in,
        averaged=record.averaged,
        by_call=record.by_call,
    )
