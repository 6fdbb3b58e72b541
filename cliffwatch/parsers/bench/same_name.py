"""Several outputs of one name in a text: other cases where their lines show it, boots of one where nothing
does.
"""

import math
from collections.abc import Sequence

from cliffwatch.counting import count_noun
from cliffwatch.parsers.bench.kind import BenchOutput
from cliffwatch.parsers.readings import Problem, problem_at

_PRODUCERS = "producers"
_SHARP = 0.05
"""Rates below it are printed with too few digits to divide them."""


def tell_apart(outputs: Sequence[BenchOutput], problems: list[Problem]) -> None:
    """Gives outputs the number of their producers where they differ in it, and says which ones are taken for
    boots.
    """
    groups: dict[tuple[object, ...], list[BenchOutput]] = {}
    for output in outputs:
        if output.kind is not None:
            groups.setdefault((output.name, *output.params.items()), []).append(output)
    for group in groups.values():
        counts = [_producers(each) for each in group]
        if len(set(counts)) > 1 and None not in counts:
            for output, count in zip(group, counts, strict=True):
                if count != 1:
                    output.params[_PRODUCERS] = str(count)
        _tell_of_boots(group, problems)


def _producers(output: BenchOutput) -> int | None:
    """By the rate of all and that of one; None where the lines do not say it."""
    if _PRODUCERS in output.params:
        return None
    for fields in (output.summary, *(each.fields for each in reversed(output.readings))):
        whole, one = fields.get("hits", math.nan), fields.get("per_prod", math.nan)
        if math.isfinite(whole) and math.isfinite(one) and one >= _SHARP:
            return max(1, round(whole / one))
    return None


def _tell_of_boots(group: Sequence[BenchOutput], problems: list[Problem]) -> None:
    """An output with its banner is a boot by itself; of others it is a guess that a reader must know of."""
    bare: dict[str, list[BenchOutput]] = {}
    for each in group:
        if not each.framed:
            bare.setdefault(each.params.get(_PRODUCERS, ""), []).append(each)
    for alike in bare.values():
        if len(alike) > 1:
            name = alike[0].name or "unknown"
            what = (
                f"{count_noun(len(alike), 'output')} of '{name}' that nothing tells apart: they were taken"
                " for boots of one case"
            )
            problems.append(problem_at(alike[0].line, name, what))
