"""B4 to B7 and B13: what is reported of one metric, on noise of four shapes."""

import math
from collections.abc import Iterator

import numpy as np

from calibrate.figures import Figure, share
from calibrate.noise import NOISES, SHAPES, Shape, Values, drifting
from calibrate.odd_families import printed, serial
from cliffwatch.stats.boot_values import boot_values, correlated_within_blocks
from cliffwatch.stats.equivalence import equivalent
from cliffwatch.stats.noise.shapes import two_modes
from cliffwatch.stats.power.detectable import boots_needed, needs_range
from cliffwatch.stats.power.spread import rank_spread
from cliffwatch.stats.ranks import two_samples
from cliffwatch.stats.shape_guard import guard_p_value

SPREAD = 0.02
_SEED = 4


def _draw(shape: Shape, repeats: int, boots: int, part: int, seed: int = 0) -> tuple[Values, Values]:
    generator = np.random.default_rng((_SEED, part, SHAPES.index(shape), seed))
    noise = NOISES[shape]
    return noise(generator, (repeats, boots), SPREAD), noise(generator, (repeats, boots), SPREAD)


def coverage(repeats: int, seed: int = 0) -> Iterator[Figure]:
    for level, low, high in ((0.95, 0.94, 0.97), (0.99, 0.985, 0.995)):
        for shape in SHAPES:
            covered = []
            for boots in (5, 7, 10, 15, 21):
                base, head = _draw(shape, repeats, boots, boots, seed)
                bounds = two_samples(base, head + 0.03).interval(level)
                covered.append(float(np.mean((bounds[0] <= 0.03) & (bounds[1] >= 0.03))))
            yield Figure(
                bar="B4",
                what=f"{shape}: a {level:.0%} interval holds the truth, 5 7 10 15 21 boots",
                method="ours",
                measured=" ".join(f"{100 * value:.1f}" for value in covered) + " %",
                wanted=f"{100 * low:g} to {100 * high:g} %",
                met=all(
                    low <= value <= high + 2 * math.sqrt(high * (1 - high) / repeats) for value in covered
                ),
            )


def equivalence(repeats: int, seed: int = 0) -> Iterator[Figure]:
    """Looks at 10, 21 and 42 boots with a margin of 2 % at a spread of 2 %."""
    for shape in SHAPES:
        published = {}
        for shift in (math.log1p(0.02), 0.0):
            base, head = _draw(shape, repeats, 42, 5, seed)
            shown = np.zeros(repeats, dtype=bool)
            for look, boots in enumerate((10, 21, 42)):
                ranked = two_samples(base[:, :boots], head[:, :boots] + shift)
                shown |= equivalent(ranked, margin=0.02, look=look, looks=3)
            published[shift] = int(shown.sum())
        wrong, right = published.values()
        yield Figure(
            bar="B5",
            what=f"{shape}: called unchanged at the margin; called unchanged when nothing changed",
            method="ours",
            measured=f"{share(wrong, repeats)}; {share(right, repeats)}",
            wanted="at most 5 %; at least 95 %",
            met=wrong <= 0.05 * repeats and right >= 0.95 * repeats,
        )


def odd_equivalence(repeats: int, seed: int = 0) -> Iterator[Figure]:
    """One look at 21 boots, a margin of 2 %: boots that take after the one before, and values with few
    digits.
    """
    margin = math.log1p(0.02)
    for number, (what, draw) in enumerate(
        {"boots that take after the one before (0.3)": serial, "printed with few digits": printed}.items()
    ):
        generator = np.random.default_rng((_SEED, 50 + number, seed))
        wrong = tried = 0
        while tried < repeats:
            base, head = draw(generator, 21, 21, margin)
            wrong += int(equivalent(two_samples(base, head), margin=0.02, look=0, looks=1).sum())
            tried += len(base)
        yield Figure(
            bar="B5",
            what=f"{what}: called unchanged at the margin, one look at 21 boots",
            method="ours",
            measured=share(wrong, tried),
            wanted="at most 5 %",
            met=wrong <= 0.05 * tried + 2 * math.sqrt(0.05 * 0.95 * tried),
        )


def boots_and_readings(repeats: int, seed: int = 0) -> Iterator[Figure]:
    """Boots differ by 2 %, ten readings within a boot by 1 %: a test of boots, and one of pooled readings."""
    generator = np.random.default_rng((_SEED, 6, seed))
    arms = [
        generator.normal(0, 0.02, size=(repeats, 5, 1)) + generator.normal(0, 0.01, size=(repeats, 5, 10))
        for _ in range(2)
    ]
    for method, pooled in (("ours", False), ("readings pooled", True)):
        base, head = (arm.reshape(repeats, -1) if pooled else arm.mean(axis=2) for arm in arms)
        wrong = int((two_samples(base, head).p() <= 0.05).sum())
        yield Figure(
            bar="B6",
            what="5 boots of 10 readings, nothing changed, at 5 %: flagged",
            method=method,
            measured=share(wrong, repeats),
            wanted="at most 6 %" if not pooled else "",
            met=wrong <= 0.06 * repeats if not pooled else None,
        )


def drift(repeats: int, seed: int = 0) -> Iterator[Figure]:
    """A host that grows slower by 2 % over the run: arms in random order within blocks, and one arm after the
    other.
    """
    generator = np.random.default_rng((_SEED, 7, seed))
    noise = generator.normal(0, SPREAD, size=(repeats, 42))
    for method, blocked in (("ours, interleaved", False), ("one arm after the other", True)):
        wrong = 0
        for row in range(repeats):
            first = generator.integers(0, 2, size=21)
            positions = np.arange(42).reshape(21, 2)
            mine = positions[np.arange(21), first] if not blocked else np.arange(21)
            other = positions[np.arange(21), 1 - first] if not blocked else np.arange(21, 42)
            values = drifting(noise[row], 0.02, np.arange(42) / 41)
            arms = boot_values(values[mine], values[other])
            wrong += float(arms.ranked(in_pairs=correlated_within_blocks([arms])[0]).p()) <= 0.05
        yield Figure(
            bar="B7",
            what="21 boots, the host drifts by 2 %, nothing changed, at 5 %: flagged",
            method=method,
            measured=share(wrong, repeats),
            wanted="" if blocked else "at most 6 %",
            met=None if blocked else wrong <= 0.06 * repeats,
        )


def needs(repeats: int, seed: int = 0) -> Iterator[Figure]:
    """The range of boots that would decide: whether it has the number with which a change of 1 % is detected
    four times in five.
    """
    alpha, shift = 0.01, math.log1p(0.01)
    for shape in SHAPES:
        truth = _boots_for_power(shape, shift, alpha, repeats)
        for boots in (10, 21, 52):
            base, head = _draw(shape, repeats, boots, 13 + boots, seed)
            stated = [boots_needed(shift, float(spread), alpha) for spread in rank_spread(base, head, shift)]
            ranges = [needs_range(each, boots, boots) for each in stated]
            inside = sum(low <= truth <= high for low, high in ranges)
            factor = float(np.median([math.sqrt(high / low) for low, high in ranges]))
            yield Figure(
                bar="B13",
                what=(
                    f"{shape}: {truth} boots would decide; within the range that is stated from {boots}"
                    " boots; the range is up to a factor"
                ),
                method="ours",
                measured=f"{share(inside, repeats)}; {factor:.2f}",
                wanted="at least 80 %",
                met=inside >= 0.8 * repeats,
            )


def _boots_for_power(shape: Shape, shift: float, alpha: float, repeats: int) -> int:
    """By the tests that a published change passes."""
    low, high = 2, 400
    while high - low > 1:
        middle = (low + high) // 2
        base, head = _draw(shape, min(repeats, 500), middle, 1000 + middle)
        p_values = two_samples(base, head + shift).p()
        detected = sum(
            p <= alpha
            and guard_p_value(float(p), ours, theirs, sides=2, direction=1, in_pairs=False) <= alpha
            for p, ours, theirs in zip(p_values, base, head + shift, strict=True)
        )
        low, high = (low, middle) if detected >= 0.8 * len(base) else (middle, high)
    return high


def modes(repeats: int, seed: int = 0) -> Iterator[Figure]:
    reported = sum(modes is not None for modes in two_modes(*_draw("gauss", repeats, 21, 99, seed)))
    generator = np.random.default_rng((_SEED, 98, seed))
    arms = generator.normal(0, 0.002, size=(2, repeats, 21)) + 0.05 * (
        generator.random((2, repeats, 21)) < 0.3
    )
    far = sum(modes is not None for modes in two_modes(*arms))
    yield Figure(
        bar="modes",
        what="two modes reported: of normal noise; of boots 5 % slower three times in ten",
        method="ours",
        measured=f"{share(reported, repeats)}; {share(far, repeats)}",
        wanted="at most 2 %; at least 90 %",
        met=reported <= 0.02 * repeats and far >= 0.9 * repeats,
    )
