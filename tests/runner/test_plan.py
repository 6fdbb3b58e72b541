"""A plan is a pure function of its seed, and treats the arms alike."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import IcountTraits
from cliffwatch.samples import CONTROL, CaseKey, Mode
from cliffwatch.stats.stages import ADAPTIVE, Stages
from cliffwatch_runner.plan.plan import Plan, explain_too_few_boots, fewest_boots, make_plan
from cliffwatch_runner.plan.selection import Selection, choose_suites, keep_named
from cliffwatch_runner.run.modes.confirm import with_empty_loops

CASES = next(suite for suite in load_catalogue().suites if suite.name == "local-storage").cases("smoke")


@given(seed=st.integers(), boots=st.integers(1, 12))
def test_every_block_boots_every_arm_once_with_the_same_order_of_cases(seed: int, boots: int) -> None:
    plan = make_plan(CASES, arms=("base", "head", CONTROL), boots=boots, seed=seed)

    assert [boot.index for boot in plan.boots] == list(range(1, 3 * boots + 1))
    for block in range(boots):
        ours = [boot for boot in plan.boots if boot.block == block]
        assert sorted(boot.arm for boot in ours) == ["base", CONTROL, "head"]
        assert len({boot.cases for boot in ours}) == 1
        assert sorted(ours[0].cases) == list(range(len(CASES)))


@given(seed=st.integers())
def test_the_same_seed_gives_the_same_plan(seed: int) -> None:
    one, two = (make_plan(CASES, arms=("base", "head"), boots=5, seed=seed) for _ in range(2))

    assert one == two


def test_arms_take_turns_in_coming_first() -> None:
    plan = make_plan(CASES, arms=("base", "head"), boots=40, seed=1)
    first = [boot.arm for boot in plan.boots[::2]]

    assert 10 < first.count("base") < 30


def _plan(boots: int | Stages, *, layouts: int = 1, seed: int = 1) -> Plan:
    return make_plan(CASES, arms=("base", "head"), boots=boots, seed=seed, layouts=layouts)


def test_cases_that_do_not_repeat_have_boots_of_their_own() -> None:
    noisy = replace(CASES[2], icount=IcountTraits(assume="nothing", repeatability=0.0))
    cases = [*CASES[:2], noisy, *CASES[3:]]

    plan = make_plan(cases, arms=("base", "head"), boots=1, seed=1, of_noisy=6)

    assert [len(boot.cases) for boot in plan.boots] == [7, 7, *([1] * 10)]
    assert {boot.cases for boot in plan.boots[2:]} == {(2,)}
    assert len(make_plan(CASES, arms=("base", "head"), boots=1, seed=1, of_noisy=6).boots) == 2


@pytest.mark.parametrize(("rows", "boots"), [(1, 5), (7, 7), (30, 8)])
def test_more_noisy_rows_need_more_boots(rows: int, boots: int) -> None:
    assert fewest_boots(rows) == boots


def test_too_few_boots_to_report_anything_are_named_before_they_are_made() -> None:
    assert len(CASES) == 7
    assert explain_too_few_boots(_plan(4), "walltime") == (
        "4 boots per kernel cannot separate 7 noisy rows from chance, however large a change is: "
        "use at least 7 (--boots 7), or --boots auto"
    )


def test_layouts_are_what_is_observed_and_too_few_of_them_are_named() -> None:
    assert explain_too_few_boots(_plan(24, layouts=4), "walltime") == (
        "4 layouts per kernel cannot separate 7 noisy rows from chance, however large a change is: "
        "use at least 7 (--boots 24 --layouts 7), or --boots auto"
    )
    assert explain_too_few_boots(_plan(24, layouts=8), "walltime") is None


def test_another_seed_has_other_images() -> None:
    images = [
        {boot.layout for boot in _plan(24, layouts=8, seed=seed).boots} for seed in (1, 2, 2_000_000_000)
    ]
    assert [len(each) for each in images] == [16, 16, 16]
    assert len(set.union(*images)) == 48


@pytest.mark.parametrize(
    ("boots", "mode"),
    [(8, "walltime"), (ADAPTIVE, "walltime"), (1, "icount")],
    ids=["enough", "staged", "icount"],
)
def test_of_a_plan_that_can_report_changes_nothing_is_said(boots: int | Stages, mode: Mode) -> None:
    assert explain_too_few_boots(_plan(boots), mode) is None


def test_all_is_every_suite_of_the_catalogue() -> None:
    catalogue = load_catalogue()

    assert choose_suites(catalogue, ("all",)) == catalogue.suites
    assert choose_suites(catalogue, ("discovered", "all")) == catalogue.suites


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ((), None),
        (
            ("seq-get/nr_maps=16",),
            {"local-storage-cache-seq-get/nr_maps=16", "local-storage-seq-get-empty-loop/nr_maps=16"},
        ),
        (
            ("*control/hashmap_nr_keys_used=10", "int-get/nr_maps=17"),
            {
                "local-storage-cache-hashmap-control/hashmap_nr_keys_used=10",
                "local-storage-cache-int-get/nr_maps=17",
            },
        ),
        (("no such",), set()),
    ],
    ids=["all", "a part of a name, with the empty loop", "a whole name, and another", "none"],
)
def test_named_cases_alone(patterns: tuple[str, ...], names: set[str] | None) -> None:
    suite = next(suite for suite in load_catalogue().suites if suite.name == "local-storage")
    every = Selection(cases=suite.cases("standard"), left_out=())
    chosen = keep_named(every, patterns)

    assert chosen == every if names is None else {str(case.key) for case in chosen.cases} == names


def test_a_case_is_confirmed_with_its_empty_loop() -> None:
    suite = next(suite for suite in load_catalogue().suites if suite.name == "local-storage")
    plan = make_plan(suite.cases("standard"), arms=("base", "head"), boots=ADAPTIVE, seed=1)
    case, control = (
        CaseKey("local-storage", f"local-storage-cache-{name}", params)
        for name, params in (("seq-get", (("nr_maps", "24"),)), ("int-get", (("nr_maps", "24"),)))
    )

    assert with_empty_loops(plan, {case}) == {
        case,
        CaseKey("local-storage", "local-storage-seq-get-empty-loop", case.params),
    }
    assert with_empty_loops(plan, {control}) == {control}, "its loop is of the profile `full`"
