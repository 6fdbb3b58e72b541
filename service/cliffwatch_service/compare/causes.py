"""Finds the functions behind the changes between two commits, in whichever comparison counted them."""

from typing import Any

from psycopg import Connection

from cliffwatch.comparing.attribution.blocks import FunctionBlock
from cliffwatch.comparing.attribution.documents import blocks_of_document
from cliffwatch.formats.code.functions import CaseFunctionsRecord
from cliffwatch_service.compare.stored import read_summary
from cliffwatch_service.store import comparisons

_MOST_CAUSES = 4
_MOST_FUNCTIONS = 4


def functions_between(connection: Connection[Any], base: str, head: str) -> tuple[CaseFunctionsRecord, ...]:
    """Returns the functions of each case; empty if no icount comparison of these commits has any."""
    summary = comparisons.summary_with_functions(connection, base, head)
    return () if summary is None else read_summary(summary).functions


def causes_between(connection: Connection[Any], base: str, head: str) -> tuple[FunctionBlock, ...]:
    """Returns the functions as reports show them: one block per cause."""
    blocks, _ = blocks_of_document(
        functions_between(connection, base, head), most=_MOST_CAUSES, each=_MOST_FUNCTIONS
    )
    return blocks
