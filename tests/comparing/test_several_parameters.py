"""Cases that differ in several parameters: a curve for each combination of the others, and which of them are
shown.
"""

import csv
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest
from arms import arm, exact

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.sweeps import curves as judging
from cliffwatch.comparing.sweeps.choice import MOST, chosen_curves, curve_name, sweep_lines
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.samples import CaseKey

PUBLISHED = Path(__file__).parent.parent / "data/published/string-map-2022.csv"
MAPS = (1, 2, 4, 8, 16, 32, 64, 128)
Measured = dict[CaseKey, list[float]]


def case(**params: object) -> CaseKey:
    return CaseKey("maps", "map-lookup", tuple((name, str(value)) for name, value in params.items()))


def flat(maps: Sequence[int] = MAPS, **others: Sequence[object]) -> Measured:
    """20 ns/op whatever the parameters are."""
    return {
        case(nr_maps=count, **dict(zip(others, values, strict=True))): [20.0]
        for count, values in product(maps, product(*others.values()))
    }


def sweeps_of(base: Measured, head: Measured | None = None) -> tuple[Sweep, ...]:
    compared = compare(arm("base", base), arm("head", head or base), exact)
    assert isinstance(compared, ComparisonSet)
    return compared.sweeps


def lines(sweeps: Sequence[Sweep]) -> list[str]:
    return [f"{line.name}: {line.words}" for line in sweep_lines(sweeps)]


def with_jump(measured: Measured, at: int, **others: object) -> Measured:
    """Half as much again from `nr_maps` on, in the cases that have these other parameters."""
    wanted = {(name, str(value)) for name, value in others.items()}
    return {
        each: (
            [values[0] * 1.5]
            if wanted <= set(each.params) and int(dict(each.params)["nr_maps"]) >= at
            else values
        )
        for each, values in measured.items()
    }


def test_one_curve_of_several_has_a_cliff_and_is_the_one_that_is_told() -> None:
    base = flat(producers=[1, 2, 4])
    sweeps = sweeps_of(base, with_jump(base, 32, producers=2))

    assert [
        (dict(each.fixed), each.base_breakpoint, each.head_breakpoint, each.differs) for each in sweeps
    ] == [
        ({"producers": "1"}, None, None, False),
        ({"producers": "2"}, None, (16, 32), True),
        ({"producers": "4"}, None, None, False),
    ]
    assert lines(sweeps) == [
        (
            "map-lookup at producers=2: base: flat from nr_maps 1 to 128, no breakpoint; head: jumps between"
            " nr_maps 16 and 32 (+50 %)"
        ),
        "map-lookup: 2 more curves over nr_maps without a breakpoint or a sure change of course",
    ]


def test_two_parameters_with_values_enough_have_curves_each() -> None:
    sweeps = sweeps_of(flat(producers=[1, 2, 3, 4, 5]))

    assert [each.parameter for each in sweeps] == ["nr_maps"] * 5 + ["producers"] * 8
    assert sweeps[-1].fixed == {"nr_maps": "128"}
    assert lines(sweeps) == [
        "map-lookup: 5 curves over nr_maps without a breakpoint or a sure change of course",
        "map-lookup: 8 curves over producers without a breakpoint or a sure change of course",
    ]


def test_a_parameter_that_is_no_number_is_fixed_and_never_swept() -> None:
    base = flat(use_case=["overwrite", "add_del", "batch", "lookup", "iterate"])
    sweeps = sweeps_of(base, with_jump(base, 8, use_case="batch"))

    assert {each.parameter for each in sweeps} == {"nr_maps"}
    assert [curve_name(each) for each in sweeps if each.differs] == ["map-lookup at use_case=batch"]
    assert sweeps_of({case(scenario=f"tcp-{number}"): [20.0] for number in range(9)}) == ()


def test_values_of_which_one_is_no_positive_number_make_no_curve() -> None:
    for odd in ("auto", "0", "-1", "inf"):
        assert sweeps_of({**flat(), case(nr_maps=odd): [20.0]}) == ()


def test_a_case_beside_a_sweep_is_no_point_of_it() -> None:
    """As bpf-loop in the full profile: loops without other options, and one case with four producers."""
    beside = case(producers=4, nr_maps=16)
    (alone,) = sweeps_of(flat())
    (sweep,) = sweeps_of({**flat(), beside: [500.0]})

    assert (sweep.words, sweep.fixed) == (alone.words, {"producers": None})
    assert alone.fixed == {}
    assert lines([sweep]) == ["map-lookup at default producers: flat from nr_maps 1 to 128, no breakpoint"]


def test_a_combination_with_too_few_points_has_no_curve() -> None:
    few = flat(MAPS[:4], producers=[2])

    assert [each.fixed for each in sweeps_of({**flat(producers=[1]), **few})] == [{"producers": "1"}]


def test_two_spellings_of_one_number_make_no_curve() -> None:
    assert sweeps_of({**flat(), case(nr_maps="1.0"): [20.0]}) == ()


def test_a_change_of_course_is_no_chance_where_no_case_changed() -> None:
    """Both sides lie within the threshold of each other, on either side of the change that makes a course."""
    base = flat(producers=[1, 2])
    head = {each: [values[0] * (1 + 1e-5)] for each, values in base.items()}

    assert [each.differs for each in sweeps_of(base, head)] == [False, False]


def test_many_curves_are_told_with_those_first_that_head_changes() -> None:
    base = with_jump(flat(producers=range(1, 13)), 8)
    sweeps = sweeps_of(base, with_jump(base, 64, producers=11))
    chosen, *_ = chosen_curves(each for each in sweeps if each.parameter == "nr_maps")

    assert len(chosen.shown) == MOST
    assert [each.fixed["producers"] for each in chosen.shown] == ["11", "1", "2", "3", "4", "5", "6", "7"]
    assert chosen.sentence == "4 more curves over nr_maps with a breakpoint and no sure change of it"


@pytest.mark.parametrize("limit", ["MOST", "MOST_IN_ALL"])
def test_of_very_many_curves_those_with_a_change_are_judged_and_the_rest_is_said(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, limit, 2)
    base = flat(producers=[1, 2, 3, 4])
    sweeps = sweeps_of(base, with_jump(base, 32, producers=4))

    assert [each.differs for each in sweeps] == [False, None, None, True]
    assert lines(sweeps)[1:] == [
        (
            "map-lookup: 3 more curves over nr_maps: 1 without a breakpoint or a sure change of course, 2 not"
            " judged"
        )
    ]


def test_the_only_curve_of_a_benchmark_is_always_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "MOST_IN_ALL", 0)

    assert [each.words for each in sweeps_of(flat())] == ["flat from nr_maps 1 to 128, no breakpoint"]


def published() -> Mapping[str, Measured]:
    """Time of an operation on a map of strings by data set, map and threads (bpf list, 2022)."""
    with PUBLISHED.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        operation: {
            CaseKey(
                "string-map",
                operation,
                (("set", row["data_set"]), ("map", row["map"]), ("threads", row["threads"])),
            ): [float(row["total_ms"])]
            for row in rows
            if row["operation"] == operation
        }
        for operation in ("lookup", "update", "delete")
    }


def test_published_times_by_data_set_map_and_threads() -> None:
    """Five data sets and three maps: fifteen curves of eight threads; lookups were published for four
    threads, too few for a curve.
    """
    sweeps = {operation: sweeps_of(measured) for operation, measured in published().items()}

    assert {operation: len(each) for operation, each in sweeps.items()} == {
        "lookup": 0,
        "update": 15,
        "delete": 15,
    }
    assert {(each.parameter, *each.fixed) for each in sweeps["update"]} == {("threads", "set", "map")}
    assert lines(sweeps["update"])[1:] == [
        (
            "update at set=all sorted strings in BTF string area, map=htab: levels off from threads 3 on (-19"
            " % at 4); unchanged in head"
        ),
        "update: 13 more curves over threads without a breakpoint or a sure change of course",
    ]
