"""Zero and its neighbours: a change from or to zero, or below it, is a change by its test, with a direction
and without a percentage.
"""

import json
from pathlib import Path

import pytest
from arms import INT_GET, SEQ_GET, arm, noisy
from click.testing import CliRunner

from cliffwatch.command.compare import compare as command
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import Arm, CaseKey, MetricTraits

OUTSIDE = Path(__file__).parents[1] / "data/outside/zero-base"


def counts(values: list[float], name: str, *, unit: str = "drops", resolution: float = 0.0) -> Arm:
    """An arm of one metric that a host's speed does not move."""
    made = arm(name, {SEQ_GET: values}, mode="walltime", resolution=resolution)
    boots = [
        type(boot)(
            index=boot.index,
            block=boot.block,
            samples=tuple(sample._replace(metric=unit, unit=unit) for sample in boot.samples),
        )
        for boot in made.boots
    ]
    return type(made)(name=name, label=name, mode="walltime", platform="amd-rome", boots=tuple(boots))


def judged(
    base: list[float], head: list[float], assume: str = "nothing", resolution: float = 0.0
) -> ComparisonRow:
    def traits(*_: object) -> MetricTraits:
        return MetricTraits(better="lower", assume="exact" if assume == "exact" else "nothing")

    sides = (counts(values, name, resolution=resolution) for values, name in ((base, "base"), (head, "head")))
    compared = compare(*sides, traits)
    assert isinstance(compared, ComparisonSet)
    return compared.rows[0]


def run(*arguments: str) -> tuple[int, dict[str, list[dict[str, object]]]]:
    ended = CliRunner().invoke(command, [*arguments, "--format", "json"])
    return ended.exit_code, json.loads(ended.stdout)


@pytest.mark.parametrize(
    ("base", "head", "verdict"),
    [("base.txt", "head.txt", "regression"), ("head.txt", "base.txt", "improvement")],
)
def test_allocations_from_and_to_zero_are_changes(base: str, head: str, verdict: str) -> None:
    code, found = run(str(OUTSIDE / base), str(OUTSIDE / head), "--fail-on", "regression")
    rows = [row for row in found["comparisons"] if row["metric"] in ("B/op", "allocs/op")]
    assert code == (1 if verdict == "regression" else 0)
    assert {(row["verdict"], row["change"], row["ci_low"], row["mde"]) for row in rows} == {
        (verdict, None, None, None)
    }
    assert {str(row["reason"]).split(":")[0] for row in rows} >= {
        "allocs/op 0 -> 2 allocs/op" if verdict == "regression" else "allocs/op 2 -> 0 allocs/op"
    }


def test_a_stack_that_grew_from_zero_is_a_regression() -> None:
    code, found = run(
        str(OUTSIDE / "base-stack.csv"), str(OUTSIDE / "head-stack.csv"), "--fail-on", "regression"
    )
    (row,) = (row for row in found["comparisons"] if row["metric"] == "stack")
    assert (code, row["verdict"], row["base"], row["head"], row["change"]) == (
        1,
        "regression",
        0.0,
        512.0,
        None,
    )


@pytest.mark.parametrize("assume", ["nothing", "exact"])
@pytest.mark.parametrize(
    ("base", "head", "verdict"),
    [
        ([0.0] * 8, [0.5] * 8, "regression"),
        ([3.0] * 8, [0.0] * 8, "improvement"),
        ([-3.0] * 8, [-5.0] * 8, "improvement"),
        ([-5.0] * 8, [-3.0] * 8, "regression"),
        ([-1.0] * 8, [2.0] * 8, "regression"),
        ([-1.0] * 8, [0.0] * 8, "regression"),
        ([0.0] * 8, [0.0] * 8, "unchanged"),
        ([-2.0] * 8, [-2.0] * 8, "unchanged"),
    ],
)
def test_the_direction_is_the_unit_s(base: list[float], head: list[float], verdict: str, assume: str) -> None:
    row = judged(base, head, assume)
    assert row.verdict == verdict, row.reason
    assert row.change is None or row.change == 0.0
    if verdict != "unchanged":
        assert row.reason.startswith(f"drops {base[0]:g} -> {head[0]:g} drops:")


def test_a_few_that_are_not_zero_show_nothing() -> None:
    row = judged([0.0] * 8, [0.0] * 6 + [1.0, 2.0])
    assert (row.verdict, row.change) == ("inconclusive", None)
    assert row.reason.startswith("drops is 0 in 8 of 8 boots of base and in 6 of 8 of head")


def test_too_few_boots_show_no_noisy_change_and_all_of_a_counted_one() -> None:
    assert judged([0.0], [5.0]).verdict == "inconclusive"
    assert judged([0.0], [5.0], "exact").verdict == "regression"
    assert judged([0.0, 3.0], [2.0, 5.0], "exact").verdict == "inconclusive"


def test_one_step_of_the_printed_digits_is_no_change() -> None:
    row = judged([0.0] * 8, [0.001] * 8, resolution=0.001)
    assert (row.verdict, row.needs) == ("inconclusive", None)
    assert "one step of the printed digits of drops" in row.reason


def test_small_changes_of_negative_values_are_below_the_threshold() -> None:
    assert judged([-1000.0] * 8, [-1001.0] * 8).verdict == "unchanged"


def test_rows_beside_them_are_judged_as_before() -> None:
    """A row of zeros takes its place in the family and changes no value of the others."""
    steady = [100.0, 100.1, 99.9, 100.2, 99.8, 100.0, 100.1, 99.9]
    worse = [value * 1.2 for value in steady]
    zeros = {INT_GET: [0.0] * 8}, {INT_GET: [7.0] * 8}
    alone = compare(arm("base", {SEQ_GET: steady}), arm("head", {SEQ_GET: worse}), noisy)
    beside = compare(
        arm("base", {SEQ_GET: steady, **zeros[0]}), arm("head", {SEQ_GET: worse, **zeros[1]}), noisy
    )
    assert isinstance(alone, ComparisonSet)
    assert isinstance(beside, ComparisonSet)
    assert [row.verdict for row in beside.rows] == ["regression", "regression"]
    assert (alone.rows[0].base, alone.rows[0].verdict) == (beside.rows[0].base, beside.rows[0].verdict)
    assert beside.headline() is beside.rows[1]


def test_medians_are_the_values_themselves() -> None:
    values = [100.0, 100.0, 99.0, 101.0, 100.0]
    compared = compare(arm("base", {SEQ_GET: values}), arm("head", {SEQ_GET: values[::-1]}), noisy)
    assert isinstance(compared, ComparisonSet)
    assert (compared.rows[0].base, compared.rows[0].head) == (100.0, 100.0)


def test_the_first_line_counts_cases() -> None:
    text = CliRunner().invoke(command, [str(OUTSIDE / "base.txt"), str(OUTSIDE / "head.txt")]).stdout
    first, _, _ = text.partition("\n")
    assert first.startswith("6 differ between the two measurements (6 worse)")
    assert first.endswith(", 1 inconclusive, 2 unchanged")
    assert CaseKey("unknown", "A", (("procs", "4"),)).benchmark in text
    assert "0 -> 2" in text


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.03])
def test_drops_that_begin_and_vary_are_a_regression_though_the_sides_did_not_take_turns(
    tmp_path: Path, noise: float
) -> None:
    for side, drops in (("base", [0.0] * 8), ("head", [0.3 + noise * number for number in range(8)])):
        lines = (f"BenchmarkRing-4 100 10.0 ns/op {each:.3f} drops/op\n" for each in drops)
        (tmp_path / side).write_text("Unit drops/op better=lower\n" + "".join(lines))
    _, found = run(str(tmp_path / "base"), str(tmp_path / "head"))
    (row,) = (row for row in found["comparisons"] if row["metric"] == "drops/op")
    assert (row["verdict"], row["base"], row["change"]) == ("regression", 0.0, None)
