"""Matched layouts: whether what they say of a reported change is true.

A run has one row. Its head differs from base by its code and, in its own layouts alone, by its placement. So a
conclusion can be wrong either way: a change of placement is called one of the code, or the other way round.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from calibrate.figures import Figure, share
from calibrate.noise import Values
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.comparing.placement.matched import with_matched
from cliffwatch.comparing.thresholds import Method
from cliffwatch.formats.verdicts import MatchedChange
from cliffwatch.samples import Arm, Boot, CaseKey, MetricTraits, Sample
from cliffwatch.stats.stages import ADAPTIVE

SPREADS = (0.0, 0.005, 0.02, 0.05)
"""Standard deviations between layouts, logs."""
CODE = (0.0, 0.005, 0.01, 0.03, 0.10)
"""Real changes."""
PLACED = 0.03
"""What head's own layouts add where placement changes it."""
_THRESHOLD = 0.01
"""Of a smaller change of the code, both conclusions are right: less than the threshold is left."""
_NOISE = 0.006
_STAYS = 0.5
"""Share of a layout's luck that matching leaves behind: of functions in the objects that the change touches."""
_ROW = CaseKey("made", "row")
_BOOTS = ADAPTIVE.screen + ADAPTIVE.looks[-1].boots


def _arm(name: str, logs: Values, layouts: Sequence[str], first: int, end: int) -> Arm:
    boots = tuple(
        Boot(
            index=number,
            block=number,
            stage="confirm" if number >= ADAPTIVE.screen else "screen",
            layout=layouts[number],
            samples=(
                Sample(case=_ROW, metric="latency", unit="ns/op", value=1000 * float(np.exp(logs[number]))),
            ),
        )
        for number in range(first, end)
    )
    return Arm(name=name, label=name, mode="walltime", platform="made", boots=boots)


def _traits(*_: object) -> MetricTraits:
    return MetricTraits(better="lower", assume="nothing")


def conclusion(seed: int, spread: float, code: float, placed: float) -> MatchedChange | None:
    """What matched layouts show of one run's change; None if the run reports none."""
    marks = [round(10_000 * each) for each in (spread, code, placed)]
    generator = np.random.default_rng((46, seed, *marks))
    screened = int(generator.integers(4, 9))
    numbers = [
        boot % screened if boot < ADAPTIVE.screen else screened + boot - ADAPTIVE.screen
        for boot in range(_BOOTS)
    ]
    luck, own, left = (generator.normal(0, spread, screened + _BOOTS)[numbers] for _ in range(3))
    noise = generator.normal(0, _NOISE, (3, _BOOTS))
    base = luck + noise[0]
    head = own + noise[1] + np.log1p(code) + np.log1p(placed)
    matched = luck + _STAYS * left + noise[2] + np.log1p(code)
    ours, theirs = ([f"{name}-{number}" for number in numbers] for name in ("base", "head"))
    end = ADAPTIVE.screen
    while True:
        first = _arm("base", base, ours, 0, end)
        compared = compare(first, _arm("head", head, theirs, 0, end), _traits, Method(stages=ADAPTIVE))
        assert isinstance(compared, ComparisonSet)
        look = ADAPTIVE.screen + compared.next_look
        if not compared.waiting or look <= end:
            break
        end = look
    (row,) = with_matched(compared.rows, first, _arm("matched", matched, ours, ADAPTIVE.screen, end))
    return row.matched if row.verdict in CHANGES else None


def matched_figures(seeds: range, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """By the layouts' spread and what is planted."""
    for spread in SPREADS:
        for code in CODE:
            for placed in (0.0, PLACED):
                one = partial(conclusion, spread=spread, code=code, placed=placed)
                told = [each for each in pool.map(one, seeds, chunksize=8) if each is not None]
                if told:
                    yield _figure(told, spread, code, placed)


def _figure(told: Sequence[MatchedChange], spread: float, code: float, placed: float) -> Figure:
    false = code == 0
    wrong = sum(each.only_placement is (not false) for each in told)
    undecided = sum(each.only_placement is None for each in told)
    limit = 0.05 * len(told) + 3 * (0.05 * 0.95 * len(told)) ** 0.5
    called = "one of the code" if false else "placement alone"
    by = f"{code:.1%} by its code" + (f", {placed:.0%} by placement" if placed else "")
    return Figure(
        bar="matched",
        what=f"layouts spread by {spread:.1%}, a change of {by}: called {called}",
        method="ours",
        measured=f"{share(wrong, len(told))} reported, {undecided / len(told):.0%} open",
        wanted="" if 0 < code < _THRESHOLD else "at most 5 %",
        met=None if 0 < code < _THRESHOLD else wrong <= limit,
    )
