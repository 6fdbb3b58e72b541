"""A run that is tried again keeps every boot that was measured, and turns the order of the interrupted ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from toy import RecordedProgress, change, request, run_toy

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run
from cliffwatch_runner.plan.plan import make_plan, order_of_retry
from cliffwatch_runner.run import measure

CASES = next(suite for suite in load_catalogue().suites if suite.name == "local-storage").cases("smoke")
HEAD_FIRST = 3
"""A seed whose first block begins with head."""


@pytest.mark.parametrize(
    ("interruptions", "order"),
    [({}, [1, 2, 3, 4]), ({1: 1}, [2, 1, 3, 4]), ({1: 1, 2: 1}, [2, 1, 3, 4]), ({1: 1, 2: 2}, [1, 2, 3, 4])],
    ids=["none", "the first boot", "both at once", "each in its turn"],
)
def test_a_block_that_was_interrupted_begins_with_the_other_arm(
    interruptions: dict[int, int], order: list[int]
) -> None:
    plan = make_plan(CASES, arms=("base", "head"), boots=2, seed=1)

    assert [boot.index for boot in order_of_retry(plan.boots, interruptions)] == order


def test_of_a_block_that_is_half_done_only_the_other_half_is_measured() -> None:
    plan = make_plan(CASES, arms=("base", "head"), boots=2, seed=1)

    assert [boot.index for boot in order_of_retry(plan.boots[1:], {2: 1})] == [2, 3, 4]


def test_a_run_that_is_tried_again_measures_the_arm_first_that_came_second(
    repository: Path, tmp_path: Path, stand_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "_guests_at_once", lambda run: 1)
    change(repository, "behaviour", "hang-in local-storage-cache-hashmap-control\n", "bpf: Spin for ever")
    asked = request(repository, tmp_path, seed=HEAD_FIRST, hang_after=1.5)
    with monkeypatch.context() as busy:
        busy.setattr(measure, "_HOST_SECONDS", 1.0)
        (starved,) = of_failure(run_toy(request(repository, tmp_path, seed=HEAD_FIRST)))
    assert starved.message.startswith("boot 1 (head)")

    run = run_toy(asked)
    assert isinstance(run, Run)
    head, base = boot(run, "001-head"), boot(run, "002-base")
    assert (head["attempt"], base["attempt"]) == (2, 1)
    assert base["ended"] <= head["began"]
    assert (run.path / "boots" / "001-head.interrupted-1").is_dir()

    progress = RecordedProgress()
    run_toy(asked, progress)
    assert any("nothing is measured again" in line for line in progress.lines)


def of_failure(ended: Run | tuple[Failure, ...]) -> tuple[Failure, ...]:
    assert isinstance(ended, tuple), ended
    return ended


def boot(run: Run, name: str) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((run.path / "boots" / name / "boot.json").read_text())
    return about
