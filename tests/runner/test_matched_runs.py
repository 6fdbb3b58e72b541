"""Runs with --matched: in the boots that confirm, head also boots where base has its functions."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_modes import run
from test_plan import CASES
from test_rehearsal import rehearse
from toy import change, request, run_toy

from cliffwatch.formats.result_directory import Run
from cliffwatch.samples import CONTROL, MATCHED, select_compared_arms
from cliffwatch.stats.stages import ADAPTIVE, Look, Stages
from cliffwatch_runner.build.layouts import matched
from cliffwatch_runner.plan.arms import ArmRequest
from cliffwatch_runner.plan.plan import Plan, confirming_plan, drop_matched, make_plan
from cliffwatch_runner.run import run as running

stand_in = pytest.mark.usefixtures("stand_in")
ARMS = ("base", "head", CONTROL)
STAGES = Stages(screen=2, screen_alpha=0.05, looks=(Look(boots=2, alpha=0.01),))


def confirming(layouts: int, boots: int) -> Plan:
    plan = make_plan(CASES, arms=ARMS, boots=ADAPTIVE, seed=1, layouts=layouts, matched=True)
    return confirming_plan(plan, (0,), arms=("base", "head"), boots=boots)


@given(layouts=st.integers(2, 10), boots=st.integers(1, 20))
def test_each_confirming_block_boots_head_in_the_layout_that_base_has_in_it(layouts: int, boots: int) -> None:
    plan = confirming(layouts, boots)
    blocks: dict[int, dict[str, int | None]] = {}
    for boot in plan.boots:
        if boot.stage == "confirm":
            blocks.setdefault(boot.block, {})[boot.arm] = boot.layout
    assert len(blocks) == boots
    for of_arms in blocks.values():
        assert of_arms.keys() == {"base", "head", MATCHED}
        assert of_arms[MATCHED] == of_arms["base"] != of_arms["head"]
    assert MATCHED not in {boot.arm for boot in plan.boots if boot.stage == "screen"}


def test_without_its_matched_boots_a_plan_keeps_those_that_were_linked_and_its_numbers() -> None:
    plan = confirming(4, 3)
    first = plan.layouts_of((MATCHED,))[0]
    dropped = drop_matched(plan, (first,))
    assert [boot.layout for boot in dropped.boots if boot.arm == MATCHED] == [first]
    assert [boot.index for boot in dropped.boots] == list(range(1, len(dropped.boots) + 1))
    later = confirming_plan(dropped, (0,), arms=("base", "head"), boots=5)
    assert [boot.layout for boot in later.boots if boot.arm == MATCHED] == [first]


def test_reports_do_not_compare_the_matched_arm() -> None:
    assert select_compared_arms(("base", "head", CONTROL, MATCHED)) == ["base", "head"]


@pytest.fixture
def confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that asks for two boots that confirm, once."""

    def further(_: Path, plan: Plan) -> Plan | None:
        if any(boot.stage == "confirm" for boot in plan.boots):
            return None
        return confirming_plan(plan, (0,), arms=("base", "head"), boots=2)

    monkeypatch.setattr(running, "further_boots", further)


def measured(repository: Path, tmp_path: Path) -> Run:
    ended = run_toy(request(repository, tmp_path, mode="walltime", accel="tcg", boots=STAGES, matched=True))
    assert isinstance(ended, Run), ended
    return ended


def layouts_of_blocks(ended: Run, arm: str) -> Mapping[int, str | None]:
    return {boot.block: boot.layout for boot in ended.arms[arm].boots if boot.stage == "confirm"}


@stand_in
@pytest.mark.usefixtures("confirmed")
def test_a_run_boots_head_in_the_layouts_of_base(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", (repository / "behaviour").read_text() + "\n", "Another head")
    ended = measured(repository, tmp_path)
    assert list(ended.arms) == [*ARMS, MATCHED]
    assert len(layouts_of_blocks(ended, MATCHED)) == 2
    assert layouts_of_blocks(ended, MATCHED) == layouts_of_blocks(ended, "base")
    of_arms = ended.record.arm_by_name
    assert of_arms[MATCHED].facts.kernel == of_arms["head"].facts.kernel
    resumed = measured(repository, tmp_path)
    assert resumed.record.created == ended.record.created
    assert resumed.arms[MATCHED].boots == ended.arms[MATCHED].boots


@stand_in
@pytest.mark.usefixtures("confirmed")
def test_a_head_that_does_not_match_is_not_booted_so_and_the_report_says_why(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matched, "LEAST_SHARE", 1.1)
    ended = measured(repository, tmp_path)
    assert MATCHED not in ended.arms
    assert len(layouts_of_blocks(ended, "head")) == 2
    (note,) = [note for note in ended.record.notes if note.startswith("no matched layouts: ")]
    assert "unchanged functions have base's addresses modulo 4096" in note


@stand_in
def test_the_plan_says_that_head_boots_in_layouts_of_base(repository: Path) -> None:
    planned = rehearse(repository, "--boots", "staged", "--matched", "--dry-run")
    assert planned.exit_code == 0, planned.output
    assert "42 more boots per kernel, and as many of head in base's layouts, for cases" in planned.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--mode", "icount"), "instruction counts do not depend on where code lies"),
        (("--layouts", "1"), "with one layout of each kernel there is none to match"),
        (("--boots", "20"), "--boots with a number has none"),
        (("--layouts", "12"), "12 layouts cannot share 10 boots of each kernel"),
        (("--trust", "outside"), "of a tree from outside nothing is kept to link head again"),
    ],
)
@stand_in
def test_what_cannot_be_matched_is_said_before_anything_is_built(
    repository: Path, words: tuple[str, ...], message: str
) -> None:
    mode = () if "--mode" in words else ("--mode", "walltime", "--accel", "tcg")
    ended = run(repository, *mode, "--boots", "staged", *words, "--matched")
    assert ended.exit_code == 2, ended.output
    assert message in " ".join(ended.output.split())
    assert not list(repository.parent.glob("cache/kernels/*"))


@stand_in
def test_clangs_lto_has_nothing_matched(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "lto").write_text("CONFIG_LTO_CLANG_THIN=y\n")
    ended = rehearse(repository, "--config", tmp_path / "lto", "--matched")
    assert "--matched: with LTO" in ended.output


@stand_in
def test_of_three_arms_none_is_matched(repository: Path, tmp_path: Path) -> None:
    arms = tuple(ArmRequest(name=name, rev="HEAD") for name in "abc")
    wanted = request(
        repository,
        tmp_path,
        mode="walltime",
        accel="tcg",
        boots=STAGES,
        matched=True,
        arms=arms,
        base=None,
        head=None,
    )
    (failure,) = run_toy(wanted)
    assert failure.message == "--matched: head is matched to base, and this run has 3 arms"
