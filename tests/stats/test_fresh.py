"""A candidate is confirmed, refuted or asked again by what fresh boots of the two revisions say."""

import math

import numpy as np
import pytest

from cliffwatch.stats.history.fresh import ERROR, FIRST_BOOTS, MOST_BOOTS, Fresh, judge_fresh, next_boots
from cliffwatch.stats.ranks import two_samples

SPREAD = 0.015


def fresh(change: float, half: float, p: float, boots: int = FIRST_BOOTS) -> Fresh:
    return Fresh(change=change, low=change - half, high=change + half, level=0.95, p=p, boots=boots)


def measured(generator: np.random.Generator, step: float, boots: int) -> Fresh:
    base, head = generator.normal(0, SPREAD, boots), generator.normal(math.log1p(step), SPREAD, boots)
    ranks = two_samples(base, head)
    low, high = ranks.interval(0.95)
    change, low, high = np.expm1([float(ranks.shift), float(low), float(high)]).tolist()
    return Fresh(change=change, low=low, high=high, level=0.95, p=float(ranks.p()), boots=boots)


def followed(generator: np.random.Generator, size: float, step: float) -> str:
    first = measured(generator, step, FIRST_BOOTS)
    answer = judge_fresh(size, first, 1)
    if answer != "open":
        return answer
    return judge_fresh(size, measured(generator, step, next_boots(size, first)), 2)


@pytest.mark.parametrize(
    ("size", "read", "number", "answer"),
    [
        pytest.param(0.03, fresh(0.028, 0.01, 0.0002), 1, "confirmed", id="clear"),
        pytest.param(-0.03, fresh(-0.028, 0.01, 0.0002), 1, "confirmed", id="clear, downwards"),
        pytest.param(0.03, fresh(-0.028, 0.01, 0.0002), 1, "refuted", id="the other way"),
        pytest.param(0.03, fresh(0.002, 0.01, 0.7), 1, "refuted", id="half of it is ruled out"),
        pytest.param(
            0.03, fresh(0.012, 0.004, 0.00001), 2, "refuted", id="a change, but less than half of the step"
        ),
        pytest.param(0.012, fresh(0.007, 0.01, 0.1), 1, "open", id="too few boots to tell"),
        pytest.param(
            0.012, fresh(0.007, 0.01, 0.0011), 1, "open", id="half of the error is kept for the second"
        ),
        pytest.param(0.012, fresh(0.007, 0.01, 0.1), 2, "refuted", id="the second leaves nothing open"),
        pytest.param(0.012, fresh(0.007, math.inf, 0.1), 1, "open", id="no interval"),
    ],
)
def test_what_a_comparison_says_of_a_candidate(size: float, read: Fresh, number: int, answer: str) -> None:
    assert judge_fresh(size, read, number) == answer


def test_small_steps_are_given_more_boots_up_to_a_cap() -> None:
    spreads = [fresh(0.01, 0.0095, 0.04).spread, fresh(0.01, math.inf, 1.0).spread]
    assert spreads == [pytest.approx(SPREAD, rel=0.03), 0.0]
    counts = [next_boots(size, fresh(size / 2, 0.0095, 0.04)) for size in (0.1, 0.02, 0.015, 0.01)]
    assert counts == sorted(counts)
    assert counts[0] == FIRST_BOOTS
    assert FIRST_BOOTS < counts[1] < MOST_BOOTS
    assert counts[-1] == MOST_BOOTS


def test_of_candidates_without_a_step_fewer_than_the_error_are_confirmed_and_of_real_ones_most() -> None:
    generator = np.random.default_rng(20261124)
    nothing = sum(followed(generator, 0.01, 0.0) == "confirmed" for _ in range(2000))
    assert nothing <= 2000 * ERROR + 3 * math.sqrt(2000 * ERROR)
    real = {
        size: sum(followed(generator, size, size) == "confirmed" for _ in range(200)) / 200
        for size in (0.01, 0.02)
    }
    assert real[0.01] > 0.55
    assert real[0.02] > 0.9
