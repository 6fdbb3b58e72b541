"""What a report says of one edit, against what the edit does."""

from collections.abc import Sequence
from dataclasses import dataclass

from cliffwatch.comparing.attribution.blocks import block_of
from cliffwatch.comparing.attribution.changes import CaseFunctions
from cliffwatch.comparing.attribution.documents import functions_of_document
from cliffwatch.comparing.attribution.sentences import describe_move
from cliffwatch.formats.comparison import ComparisonDocument
from cliffwatch.formats.reading import decode
from cliffwatch.samples import CaseKey


@dataclass(frozen=True)
class Truth:
    """truth.json: an edit without its files (`cost_shift.edits.Edit`)."""

    name: str
    kind: str
    expected: str
    functions: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    name: str
    expected: str
    told: str
    """`moved`, `slower` or `nothing`, of the edit's own functions first."""
    right: bool
    about: str
    said: Sequence[str]
    """The sentence of each case, with its share of the case's instructions."""


def judge(truth: Truth, report: str) -> Outcome:
    """Judges the report (Comparison JSON) of one edit."""
    document = decode(report.encode(), ComparisonDocument)
    cases = functions_of_document(document.functions)
    named = set(truth.functions)
    moved = [each for each in cases.values() if _moves(each, named)]
    slower = {change for each in cases.values() for change in _own(each) if change in named}
    others = {change for each in cases.values() for change in _own(each)} - named
    told = "moved" if moved and not slower else "slower" if slower or others else "nothing"
    if truth.expected == "slower":
        right = told == "slower" and bool(slower)
    else:  # one name alone: the same code in another file, which moves nothing between functions
        right = told == ("moved" if len(named) > 1 else "nothing") and not others
    return Outcome(
        truth.name,
        truth.expected,
        told,
        right,
        f"{truth.functions[0]}: {truth.kind}",
        [_words(case, each) for (_, (case, _)), each in cases.items()] or ["no function named"],
    )


def _moves(found: CaseFunctions, named: set[str]) -> bool:
    """True if one move, or all moves together, name every function."""
    return named <= {function.name for move in found.moves for function in move.functions}


def _own(found: CaseFunctions) -> set[str]:
    """Functions of the kernel that are called slower or faster."""
    return {each.function.name for each in found.own_changes if each.function.object == "kernel"}


def _words(case: CaseKey, found: CaseFunctions) -> str:
    """The report's sentence; of a row that changed also its moves, which the report says beside the functions."""
    moves = [] if found.hidden_in else map(describe_move, found.moves)
    sentence = "; ".join((block_of(case, found).sentence, *moves))
    return f"{found.base:.0f} insns/op {found.measured / found.base:+.3%}; {sentence}"
