"""Layouts: images of one kernel that differ only in where their code lies. A plan spreads its boots over
them, since the luck of one layout is in all boots of it.
"""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_modes import run
from test_plan import CASES
from test_rehearsal import rehearse
from toy import change, request, run_toy

from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run
from cliffwatch.samples import CONTROL
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.build.layouts.padding import (
    ALIGNMENT,
    SIZES,
    pad_object,
    padded_members,
    parse_members,
)
from cliffwatch_runner.plan.plan import Plan, confirming_plan, make_plan
from cliffwatch_runner.plan.request import DEFAULT_LAYOUTS
from cliffwatch_runner.run import run as running
from cliffwatch_runner.run.built_run import BuiltRun

stand_in = pytest.mark.usefixtures("stand_in")
ARMS = ("base", "head", CONTROL)


def planned(boots: int, layouts: int, arms: tuple[str, ...] = ARMS) -> Plan:
    return make_plan(CASES, arms=arms, boots=boots, seed=1, layouts=layouts)


@given(boots=st.integers(2, 30), layouts=st.integers(2, 12))
def test_the_boots_of_an_arm_take_its_layouts_in_turn_and_no_two_arms_share_one(
    boots: int, layouts: int
) -> None:
    plan = planned(boots, layouts)
    seeds = {arm: [boot.layout for boot in plan.boots if boot.arm == arm] for arm in ARMS}
    for of_arm in seeds.values():
        assert of_arm == [of_arm[number % layouts] for number in range(boots)]
        assert len(set(of_arm)) == min(boots, layouts)
    assert len(set().union(*map(set, seeds.values()))) == sum(len(set(each)) for each in seeds.values())


@given(layouts=st.integers(2, 10))
def test_each_boot_that_confirms_has_a_layout_that_did_not_make_it_a_candidate(layouts: int) -> None:
    plan = confirming_plan(planned(10, layouts), (0,), arms=("base", "head"), boots=14)
    plan = confirming_plan(plan, (0,), arms=("base", "head"), boots=28)
    screened = {boot.layout for boot in plan.boots if boot.stage == "screen"}
    confirming = {boot.layout for boot in plan.boots if boot.stage == "confirm"}
    assert len(confirming) == 2 * 28
    assert not screened & confirming


def test_one_layout_is_the_kernel_as_it_was_built() -> None:
    assert {boot.layout for boot in planned(4, 1).boots} == {None}


MEMBERS = tuple(f"kernel/part-{number}.o" for number in range(200))


@given(seed=st.integers(1, 1000))
def test_padding_leaves_objects_and_their_order_alone_and_the_first_object_in_its_place(seed: int) -> None:
    padded = list(padded_members(MEMBERS, seed, "pad-{}.o"))
    pads = [name for name in padded if name.startswith("pad-")]
    assert tuple(name for name in padded if name not in pads) == MEMBERS
    assert padded[0] == MEMBERS[0]
    assert {int(name[4:-2]) for name in pads} <= set(SIZES)
    assert padded == list(padded_members(MEMBERS, seed, "pad-{}.o"))
    assert padded != list(padded_members(MEMBERS, seed + 1, "pad-{}.o"))


@pytest.mark.parametrize("listed", ["", "one.o\n", "a.o\n/etc/@x\n", "a.o\n b.o\n", "a.o\nb.o --plugin\n"])
def test_a_listing_with_anything_but_objects_is_refused(listed: str) -> None:
    assert isinstance(parse_members(listed), Failure)


def test_the_linker_takes_padding_and_moves_what_follows_by_its_size(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
        subprocess.run(["gcc", "-c", f"{name}.c"], cwd=tmp_path, check=True)
    (tmp_path / "pad.o").write_bytes(pad_object({".text": 4080}))

    def distance(*objects: str) -> int:
        linked = ["ld", "--fatal-warnings", "-e", "first", "-o", "whole", *objects]
        subprocess.run(linked, cwd=tmp_path, check=True)
        shown = subprocess.run(["nm", "whole"], cwd=tmp_path, check=True, capture_output=True, text=True)
        at = {line.split()[2]: int(line.split()[0], 16) for line in shown.stdout.splitlines()}
        return at["second"] - at["first"]

    moved = distance("first.o", "pad.o", "second.o") - distance("first.o", "second.o")
    assert 4080 - ALIGNMENT < moved <= 4080 + ALIGNMENT


def boots_of(results: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted(results.glob("boots/*/boot.json"))]


@stand_in
def test_a_walltime_run_boots_each_kernel_in_layouts_of_its_own(repository: Path) -> None:
    ended = rehearse(repository, "--boots", "2")
    results = repository.parent / "results"
    assert ended.exit_code == 0, ended.output
    layouts = {(boot["arm"], boot["layout"]) for boot in boots_of(results)}
    assert len(layouts) == 6
    assert len({layout for _, layout in layouts}) == 6
    assert json.loads((results / "run.json").read_text())["plan"]["layouts"] == 2


@stand_in
def test_the_plan_says_so_before_it_begins(repository: Path) -> None:
    planned = rehearse(repository, "--boots", "4", "--layouts", "3", "--dry-run")
    assert "boots (12) in 3 layouts of each kernel, each with its cases in order:" in planned.output
    assert "of one CPU, 4 min 30 s for 9 links, without builds" in planned.output
    ended = rehearse(repository, "--boots", "2")
    assert "walltime: 6 boots in 2 layouts of each kernel; " in ended.output


@stand_in
def test_the_images_are_kept_and_differ(repository: Path) -> None:
    rehearse(repository, "--boots", "2")
    maps = [path.read_text() for path in repository.parent.glob("cache/kernels/*/System.map")]
    assert len(set(maps)) == len(maps) > 2


@stand_in
def test_with_one_layout_the_report_says_what_cannot_be_told_apart(repository: Path) -> None:
    ended = rehearse(repository, "--boots", "2", "--layouts", "1")
    assert ended.exit_code == 0, ended.output
    assert {boot["layout"] for boot in boots_of(repository.parent / "results")} == {None}
    assert (
        "Each kernel has one layout: a change of a few per cent may come from where the linker put code"
        in " ".join(ended.output.split())
    )


@stand_in
def test_a_link_that_was_stopped_leaves_no_padding_in_the_next_kernel(
    repository: Path, tmp_path: Path
) -> None:
    assert isinstance(run_toy(request(repository, tmp_path)), Run)
    (plain,) = {path.read_text() for path in tmp_path.glob("cache/kernels/*/System.map")}
    (output,) = tmp_path.glob("cache/worktrees/*/output")
    (output / "layouts").mkdir()
    (output / "pad.o").write_bytes(pad_object({".text": 4080}))
    (output / "vmlinux.a").unlink()
    subprocess.run(["ar", "cDPqST", "vmlinux.a", "main.o", "pad.o", "core.o"], cwd=output, check=True)
    change(repository, "behaviour", (repository / "behaviour").read_text() + "\n", "Build again")

    assert isinstance(run_toy(request(repository, tmp_path, out=tmp_path / "again")), Run)
    assert {path.read_text() for path in tmp_path.glob("cache/kernels/*/System.map")} == {plain}
    assert len(list(tmp_path.glob("cache/kernels/*/System.map"))) == 2


@stand_in
def test_stopped_while_it_links_for_the_second_stage_a_run_keeps_what_was_measured(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def further(_: Path, plan: Plan) -> Plan:
        return confirming_plan(plan, (0,), arms=("base", "head"), boots=2)

    def stopped(built: BuiltRun) -> None:
        built.tools.stop.set()
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(running, "further_boots", further)
        patched.setattr(running, "link_layouts", stopped)
        rehearse(repository, "--boots", "2")
    results = repository.parent / "results"
    assert json.loads((results / "run.json").read_text())["status"] == "incomplete"
    assert len(boots_of(results)) == 6


def break_relink(repository: Path) -> None:
    """A tree that makes its archive anew each time, so that padding never gets into the kernel."""
    makefile = (repository / "Makefile").read_text()
    change(repository, "Makefile", f"{makefile}\n.PHONY: $(O)/vmlinux.a\n", "make the archive anew")


@stand_in
def test_a_kernel_that_cannot_be_linked_again_is_measured_as_it_is_and_the_report_says_so(
    repository: Path,
) -> None:
    break_relink(repository)
    ended = rehearse(repository, "--boots", "2")
    assert ended.exit_code == 0, ended.output
    assert {boot["layout"] for boot in boots_of(repository.parent / "results")} == {None}
    assert "its link ignores vmlinux.a" in ended.output


@stand_in
def test_a_host_that_cannot_link_is_not_taken_for_a_kernel_with_one_layout(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    full = "@! [ -e $(O)/layouts ] || { echo 'ld: final link failed: No space left on device'; exit 1; }"
    rule = "bzImage:\n\t@echo '  LD"
    assert rule in makefile
    change(repository, "Makefile", makefile.replace(rule, rule.replace("\t", f"\t{full}\n\t", 1)), "full")
    ended = rehearse(repository, "--boots", "2")
    assert ended.exit_code == 4, ended.output
    assert "the disk is full" in ended.output
    assert not boots_of(repository.parent / "results")
    (log,) = repository.parent.glob("cache/failures/*-layouts.log")
    assert "No space left on device" in log.read_text()


@stand_in
def test_layouts_that_were_asked_for_and_cannot_be_had_are_an_error(repository: Path) -> None:
    break_relink(repository)
    ended = rehearse(repository, "--boots", "2", "--layouts", "2")
    assert ended.exit_code not in (0, 1)
    assert "--layouts 1" in ended.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--mode", "icount", "--layouts", "4"), "instruction counts do not depend on where code lies"),
        (
            ("--mode", "walltime", "--accel", "tcg", "--boots", "4", "--layouts", "6"),
            "6 layouts cannot share 4 boots of each kernel",
        ),
    ],
)
@stand_in
def test_what_cannot_be_is_said_before_anything_is_built(
    repository: Path, words: tuple[str, ...], message: str
) -> None:
    ended = run(repository, *words)
    assert ended.exit_code == 2, ended.output
    assert message in " ".join(ended.output.split())
    assert not list(repository.parent.glob("cache/kernels/*"))


@stand_in
def test_clangs_lto_has_one_layout(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "lto").write_text("CONFIG_LTO_CLANG_THIN=y\n")
    ended = rehearse(repository, "--config", tmp_path / "lto", "--boots", "4", "--layouts", "2")
    assert ended.exit_code == 2, ended.output
    assert "with LTO" in ended.output


def test_the_default_is_as_many_layouts_as_calibration_needs() -> None:
    assert DEFAULT_LAYOUTS == 8
