"""The logic of tools/simulated_day and tools/service_memory.py: what is drawn, and what is decided from
figures.
"""

import random
from collections import Counter

import pytest
import service_memory
from simulated_day.asking import kind_of
from simulated_day.day import BOOTS, DAY, boots_planned, hosts, moments, pushes, samples_a_day, views


def test_a_day_is_the_same_for_its_seed_and_another_for_another() -> None:
    assert pushes(1, 50) == pushes(1, 50)
    assert pushes(1, 50) != pushes(2, 50)
    assert views(1, 50) == views(1, 50)


def test_a_working_day_has_its_peaks() -> None:
    drawn = moments(random.Random(1), 10_000)
    hours = Counter(int(second // 3600) for second in drawn)

    assert drawn == sorted(drawn)
    assert 0 <= drawn[0] <= drawn[-1] < DAY
    assert hours[10] > 3 * hours[3]
    assert hours[15] > hours[12]


def test_each_push_has_commits_of_its_own() -> None:
    day = pushes(1, 200)
    others = [push.commits for push in day if not push.followed]
    followed = [push.number for push in day if push.followed]

    assert len({commit for pair in others for commit in pair}) == 2 * len(others)
    assert followed == list(range(len(followed)))


def test_the_formula_counts_what_is_planned() -> None:
    day = pushes(3, 300)
    by_mode = Counter(mode for push in day for _, mode in push.targets)

    assert boots_planned(day) == sum(2 * BOOTS[mode] * count for mode, count in by_mode.items())
    assert samples_a_day(jobs=10, boots=4, cases=40) == 1600


@pytest.mark.parametrize("count", [2, 5, 50])
def test_every_host_has_a_name_of_its_own(count: int) -> None:
    made = hosts(count)

    assert len({name for name, _, _ in made}) == count
    assert {platform for _, platform, _ in hosts(50)} == {"emulated-x86-64", "amd-rome", "intel-skylake"}


def test_requests_are_told_apart() -> None:
    assert kind_of("PUT", "/runs/abc/boots/3/raw") == "upload of raw outputs"
    assert kind_of("PUT", "/runs/abc/boots/3") == "upload of a boot"
    assert kind_of("POST", "/leases/x/heartbeat") == "heartbeat"


def test_growth_is_between_full_caches_and_the_end() -> None:
    """What the first tenth brings is the caches'; what comes later and stays is growth."""
    flat = [(number, 100.0 if number < 100 else 140.0) for number in range(10, 1001, 10)]
    leaking = [(number, 100 + number / 100) for number in range(10, 1001, 10)]

    assert service_memory.growth(flat, 1000) == 0
    assert service_memory.growth(leaking, 1000) == pytest.approx(8.0, abs=0.6)
