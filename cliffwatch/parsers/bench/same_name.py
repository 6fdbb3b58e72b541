"""Tells outputs with the same name apart.

If their lines show different parameters, they are different cases. Otherwise they are boots of one case.
"""

import math
from collections.abc import Sequence

from cliffwatch.counting import count_noun
from cliffwatch.parsers.bench.kind import BenchOutput
from cliffwatch.parsers.readings import Problem, problem_at

_PRODUCERS = "producers"
_SHARP = 0.05
"""Smaller rates have too few printed digits to derive the number of producers from them."""


def tell_apart(outputs: Sequence[BenchOutput], problems: list[Problem]) -> None:
    """Adds the number of producers to outputs that differ in it.

    Reports the outputs that are read as boots.
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
    """Derives the number of producers from the total rate and the rate of one.

    None if the lines lack either.
    """
    if _PRODUCERS in output.params:
        return None
    for fields in (output.summary, *(each.fields for each in reversed(output.readings))):
        whole, one = fields.get("hits", math.nan), fields.get("per_prod", math.nan)
        if math.isfinite(whole) and math.isfinite(one) and one >= _SHARP:
            return max(1, round(whole / one))
    return None


def _tell_of_boots(group: Sequence[BenchOutput], problems: list[Problem]) -> None:
    """Reports outputs that are read as boots of one case.

    With a banner that is certain, without one it is a guess.
    """
    bare: dict[str, list[BenchOutput]] = {}
    for each in group:
        if not each.framed:
            bare.setdefault(each.params.get(_PRODUCERS, ""), []).append(each)
    for alike in bare.values():
        if len(alike) > 1:
            name = alike[0].name or "unknown"
            what = (
                f"{count_noun(len(alike), 'output')} of '{name}' cannot be distinguished:"
                " they were read as boots of one case"
            )
            problems.append(problem_at(alike[0].line, name, what))
