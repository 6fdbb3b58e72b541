"""`compare --confirm`: what earlier boots let suspect is reported where fresh ones bear it out, and only
there.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arms import CONTROL, INT_GET, SEQ_GET, arm, noisy
from click.testing import CliRunner, Result

from cliffwatch.command.main import main
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.compare_run import Sides, with_fresh_boots
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import Arm, CaseKey


def measured(name: str, seed: int, boots: int, slower: dict[CaseKey, float]) -> Arm:
    generator = np.random.default_rng(seed)
    values = {
        case: list(30 * np.exp(generator.normal(0, 0.01, boots)) * (1 + slower.get(case, 0)))
        for case in (SEQ_GET, INT_GET, CONTROL)
    }
    return arm(name, values, mode="walltime")


def rows(sides: Sides | Failure) -> dict[CaseKey, ComparisonRow]:
    assert isinstance(sides, Sides)
    compared = compare(sides.base, sides.head, noisy, sides.method())
    assert isinstance(compared, ComparisonSet)
    return {row.case: row for row in compared.rows}


def test_a_change_that_ten_boots_let_suspect_is_reported_once_fresh_ones_bear_it_out() -> None:
    sides = Sides(
        base=measured("base", 1, 10, {}), head=measured("head", 2, 10, {SEQ_GET: 0.05, INT_GET: 0.05})
    )

    there = rows(
        with_fresh_boots(sides, measured("base", 3, 14, {}), measured("head", 4, 14, {SEQ_GET: 0.05}))
    )

    assert there[SEQ_GET].verdict == "regression"
    assert (there[SEQ_GET].n_base, there[SEQ_GET].n_head) == (14, 14)
    assert there[INT_GET].verdict != "regression"
    assert there[CONTROL].verdict not in ("regression", "improvement")


@pytest.mark.parametrize(
    "different", [{"mode": "icount"}, {"platform": "intel-skylake"}, {"environment": {"config": "b"}}]
)
def test_fresh_boots_of_another_machine_or_build_confirm_nothing(different: dict[str, object]) -> None:
    base, head = (
        replace(measured(name, 1, 10, {}), environment={"config": "a"}) for name in ("base", "head")
    )

    refused = with_fresh_boots(Sides(base=base, head=head), base, replace(head, **different))  # type: ignore[arg-type]

    assert isinstance(refused, Failure)
    assert (
        f"of another {'config' if 'environment' in different else next(iter(different))}" in refused.message
    )


def in_layouts(side: Arm, first: int, count: int) -> Arm:
    """The boots take `count` layouts in turn, numbered from `first`."""
    boots = (
        replace(boot, layout=f"{side.name}-{first + number % count}")
        for number, boot in enumerate(side.boots)
    )
    return replace(side, boots=tuple(boots))


@pytest.mark.parametrize(("boots", "layouts"), [(10, 8), (24, 8), (24, 24)])
def test_fresh_layouts_confirm_as_fresh_boots_do(boots: int, layouts: int) -> None:
    slower = {SEQ_GET: 0.3}
    base, head, *fresh = (
        in_layouts(measured(name, seed, boots, change), first, layouts)
        for name, seed, change, first in (
            ("base", 1, {}, 1),
            ("head", 2, slower, 1),
            ("base", 3, {}, 101),
            ("head", 4, slower, 101),
        )
    )
    there = rows(with_fresh_boots(Sides(base=base, head=head, one_run=True), *fresh))

    assert there[SEQ_GET].verdict == "regression"
    assert there[CONTROL].verdict not in ("regression", "improvement")


def test_fresh_boots_in_the_first_layouts_share_their_luck_and_confirm_nothing() -> None:
    base, head = (in_layouts(measured(name, 1, 10, {}), 1, 8) for name in ("base", "head"))
    refused = with_fresh_boots(Sides(base=base, head=head), base, head)

    assert isinstance(refused, Failure)
    assert "are in layouts of the first boots" in refused.message
    assert refused.next_step == "measure both sides again with another --seed"


def test_what_its_own_plan_confirmed_is_not_confirmed_again() -> None:
    base, head = measured("base", 1, 10, {}), measured("head", 2, 10, {})
    confirmed = with_fresh_boots(Sides(base=base, head=head), base, head)
    assert isinstance(confirmed, Sides)

    refused = with_fresh_boots(confirmed, base, head)

    assert isinstance(refused, Failure)
    assert "confirmed by their own plan" in refused.message


def go_bench(path: Path, seed: int, boots: int, factor: float) -> Path:
    generator = np.random.default_rng(seed)
    lines = [
        f"BenchmarkGet 1000 {30 * factor * np.exp(noise):.5f} ns/op\n"
        for noise in generator.normal(0, 0.01, boots)
    ]
    path.write_text("".join(lines))
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)], catch_exceptions=False)


def test_files_are_confirmed_by_files(tmp_path: Path) -> None:
    base, head = go_bench(tmp_path / "base", 1, 10, 1.0), go_bench(tmp_path / "head", 2, 10, 1.05)
    fresh = go_bench(tmp_path / "base2", 3, 14, 1.0), go_bench(tmp_path / "head2", 4, 14, 1.05)
    same = go_bench(tmp_path / "base3", 5, 14, 1.0), go_bench(tmp_path / "head3", 6, 14, 1.0)

    assert "slower" in run(base, head, "--confirm", *fresh).output
    assert "slower" not in run(base, head, "--confirm", *same).output


def test_both_sides_are_named_to_be_confirmed(tmp_path: Path) -> None:
    base = go_bench(tmp_path / "base", 1, 10, 1.0)

    ended = run(base, "--confirm", base, base)

    assert ended.exit_code == 2
    assert "--confirm needs both sides by name" in ended.output
