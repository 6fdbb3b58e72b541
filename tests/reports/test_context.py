"""What a report says of a run besides its numbers."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from made_documents import made_record

from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.formats.run_record import ArmFacts, ArmRecord, PlannedBootRecord, PlanRecord, stages_record
from cliffwatch.reports.context import context_of_record, context_of_run
from cliffwatch.stats.stages import ADAPTIVE, CAREFUL

OURS, DEBIANS = "a" * 64, "d" * 64


def arm(name: str, config: str, *notes: str) -> ArmRecord:
    return ArmRecord(name=name, label=name, facts=ArmFacts(config=config), config_notes=notes)


def test_configurations_that_differ_are_in_the_report_and_what_all_have_in_common_is_not() -> None:
    arms = (
        arm("base", OURS, "CONFIG_BASE_FULL is unknown to this tree, not y"),
        arm("control", OURS, "CONFIG_BASE_FULL is unknown to this tree, not y"),
        arm("head", DEBIANS, "CONFIG_BASE_FULL is unknown to this tree, not y", "CONFIG_HZ_1000 is n, not y"),
        arm(
            "other", DEBIANS, "CONFIG_BASE_FULL is unknown to this tree, not y", "CONFIG_HZ_1000 is n, not y"
        ),
    )

    notes = context_of_record(made_record(arms=arms, notes=("booted at noon",)), None).notes

    assert notes == ("booted at noon", "head, other: CONFIG_HZ_1000 is n, not y")


def test_arms_of_one_configuration_say_nothing_of_it() -> None:
    arms = (arm("base", OURS, "CONFIG_HZ_1000 is n, not y"), arm("head", OURS))

    assert context_of_record(made_record(arms=arms), None).notes == ()


ARMS = tuple(
    ArmRecord(name=name, label=name, facts=ArmFacts(commit=digit * 40))
    for name, digit in (("base", "1"), ("head", "2"))
)


def boots_of(*arms: str, blocks: int = 1) -> tuple[PlannedBootRecord, ...]:
    """Blocks of these arms; an arm that is named twice boots twice in each, in two guest shapes."""
    named = [(block, arm) for block in range(blocks) for arm in arms]
    return tuple(PlannedBootRecord(index=i, block=block, arm=arm) for i, (block, arm) in enumerate(named))


def repeat_of_plan(mode: str, **plan: Any) -> str:
    planned = PlanRecord(seed=1, cases=(), **plan)
    where: Mapping[str, Any] = {"mode": mode, "platform": "amd-rome", "arms": ARMS}
    return context_of_record(made_record(**where, plan=planned), None).repeat


def test_a_run_of_a_time_is_repeated_by_its_time_and_not_by_what_fitted() -> None:
    assert "--boots 1" in context_of_record(made_record(arms=ARMS), None).repeat

    repeat = repeat_of_plan("walltime", seconds=1200, layouts=2, boots=boots_of("base", "head", blocks=4))
    assert repeat.endswith("--mode walltime --time 1200s")
    # One layout was asked for: a time alone would choose more.
    assert repeat_of_plan("walltime", seconds=60, layouts=1, boots=()).endswith("--time 60s --layouts 1")


def test_a_run_of_two_stages_is_repeated_by_their_word_and_not_by_the_boots_of_both() -> None:
    boots = boots_of("base", "head", "control", blocks=24)

    staged = repeat_of_plan("walltime", layouts=8, boots=boots, stages=stages_record(ADAPTIVE))
    assert "--boots staged --layouts 8" in staged
    careful = repeat_of_plan("walltime", layouts=8, boots=boots, stages=stages_record(CAREFUL))
    assert "--boots careful --layouts 8" in careful


def test_a_run_in_two_guest_shapes_is_repeated_by_its_boots_of_each() -> None:
    assert "--boots 3" in repeat_of_plan("icount", boots=boots_of("base", "base", "head", "head", blocks=3))


def test_a_rehearsal_is_repeated_as_one_in_its_layouts_and_with_its_matched_boots() -> None:
    plan = PlanRecord(seed=1, layouts=1, cases=(), boots=boots_of("base", "head"))
    boots = boots_of("base", "head", "matched")
    matched = PlanRecord(seed=1, layouts=4, cases=(), boots=boots, stages=stages_record(CAREFUL))
    where: Mapping[str, Any] = {"arms": ARMS, "mode": "walltime", "platform": "rehearsal-amd-rome"}

    repeat = context_of_record(made_record(**where, plan=plan), None).repeat
    assert "--mode walltime --accel tcg --boots 1 --layouts 1" in repeat
    repeat = context_of_record(made_record(**where, plan=matched), None).repeat
    assert "--boots careful --layouts 4 --matched" in repeat
    assert "--accel" not in context_of_record(made_record(arms=ARMS), None).repeat


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("complete", "1 of 2 planned boots are not in {folder}, although the run is complete: 002-head."),
        ("incomplete", "1 of 2 planned boots are still to be done"),
        ("running", "1 of 2 planned boots are still to be done"),
    ],
)
def test_boots_that_the_folder_does_not_hold_are_told(
    data: Path, tmp_path: Path, status: str, said: str
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(data / "runs/uninlined", folder)
    whole = read_run(folder)
    shutil.rmtree(folder / "boots/002-head")
    record = folder / "run.json"
    record.write_text(record.read_text().replace('"status": "complete"', f'"status": "{status}"'))
    lost = read_run(folder)

    assert isinstance(whole, Run)
    assert isinstance(lost, Run)
    assert not any("planned boots" in note for note in context_of_run(whole).notes)
    assert context_of_run(lost).notes[0].startswith(said.format(folder=folder))
