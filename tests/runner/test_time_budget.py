"""`--time`: the first boots of each kernel show what more of them are worth, and the rest fills the time."""

import json
import re
import statistics
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import Result
from test_modes import run
from test_rehearsal import rehearse

from cliffwatch.columns import RowKey
from cliffwatch.failure import Failure
from cliffwatch.formats.run_reading import read_run_record
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseKey
from cliffwatch.stats.power import budget
from cliffwatch_runner import clock
from cliffwatch_runner.plan.plan import PlannedBoot
from cliffwatch_runner.run.built_run import BuiltRun
from cliffwatch_runner.run.layouts import link_layouts
from cliffwatch_runner.run.modes import timed

pytestmark = pytest.mark.usefixtures("stand_in")

boot_seconds = timed._boot_seconds
"""As it is: the runs below take other times for granted."""


def boots_of(results: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(results.glob("boots/*/boot.json"))]


def record(repository: Path) -> Any:
    return json.loads((repository.parent / "results" / "run.json").read_text())


def timed_run(repository: Path, *words: str) -> Result:
    return rehearse(repository, "--boots", "auto", *words)


@pytest.fixture(autouse=True)
def costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A boot takes 40 s and a link 25 s, as on a real kernel: the toys' take none."""

    def seconds(folder: Path, boot: PlannedBoot) -> float | None:
        return 40.0 if (folder / "boots" / boot.folder / "boot.json").exists() else None

    monkeypatch.setattr(timed, "_boot_seconds", seconds)
    monkeypatch.setattr(timed, "_link_seconds", lambda _: 25.0)


def test_the_rest_of_the_time_goes_to_what_the_first_boots_show_and_a_resumed_run_decides_as_before(
    repository: Path,
) -> None:
    ended = timed_run(repository, "--time", "30m")
    assert ended.exit_code == 0, ended.output
    results, first = repository.parent / "results", record(repository)
    boots = boots_of(results)
    layouts = {arm: {b["layout"] for b in boots if b["arm"] == arm} for arm in ("base", "head", "control")}

    assert len({sum(b["arm"] == arm for b in boots) for arm in layouts}) == 1
    assert len({len(each) for each in layouts.values()}) == 1
    assert len(layouts["base"]) > 4
    spent = 40 * len(boots) + 25 * sum(map(len, layouts.values()))
    assert 0 <= 1800 - spent < 3 * (4 * 40 + 25)
    assert first["plan"]["seconds"] == 1800
    assert {boot["duration"] for boot in first["plan"]["boots"]} > {None}

    before = " ".join(ended.stderr.split())
    assert "of each kernel spread by" in before
    assert "a link takes 25 s, a boot 40 s" in before
    assert "more layouts of each kernel" in before
    notes = [note for note in first["notes"] if note.startswith("--time: ")]
    assert len(notes) == 2
    assert "changes of less than 0.1% will be seen" in notes[1]
    assert all(note in " ".join(ended.stdout.split()) for note in notes)

    for number in (5, len(boots)):
        (done,) = results.glob(f"boots/{number:03}-*/boot.json")
        done.unlink()
    document = results / "run.json"
    document.write_text(document.read_text().replace('"status": "complete"', '"status": "incomplete"'))
    assert timed_run(repository, "--time", "30m").exit_code == 0
    assert len(boots_of(results)) == len(boots)
    assert record(repository)["plan"] == first["plan"]
    assert record(repository)["notes"] == first["notes"]


def test_what_a_boot_and_a_link_cost_is_what_they_took(repository: Path) -> None:
    assert rehearse(repository, "--boots", "2").exit_code == 0
    results, cache = repository.parent / "results", repository.parent / "cache"
    known = read_run_record((results / "run.json").read_text())
    assert not isinstance(known, Problem)
    for planned in known.plan.boots:
        boot = PlannedBoot(index=planned.index, block=planned.block, arm=planned.arm, cases=())
        about = json.loads((results / "boots" / boot.folder / "boot.json").read_text())
        lasted = datetime.fromisoformat(about["ended"]) - datetime.fromisoformat(about["began"])
        assert boot_seconds(results, boot) == lasted.total_seconds() > 0
    assert boot_seconds(results, PlannedBoot(index=99, block=9, arm="base", cases=())) is None

    # A link is the last step of a build. Times that began with the build would be longer than it.
    took = {
        path.parent.name: json.loads(path.read_text())["seconds"]
        for path in cache.glob("kernels/*/kernel.json")
    }
    build = took.pop(known.arms[0].facts.kernel or "")
    assert len(took) == len(known.links) == 6
    assert sorted(took.values()) == pytest.approx(sorted(known.links), abs=0.06)
    results.rename(results.with_name("first"))
    assert rehearse(repository, "--boots", "2").exit_code == 0
    assert record(repository)["links"] == []  # they were in the cache
    assert 0 < statistics.median(took.values()) < build


def test_one_row_is_said_with_the_range_in_which_its_change_lies() -> None:
    one, other = (RowKey(CaseKey("suite", name), "latency", "ns/op") for name in ("one", "other"))
    said = timed._seen_words({one: 0.03}, (0.8, 1.5))
    assert said == "a change of 3.0% will be seen (estimated from few layouts: 2.4% to 4.5%)"
    said = timed._seen_words({one: 0.03, other: 0.05}, (0.8, 1.5))
    assert said.startswith("changes of 4.0% will be seen in the median row, of 5.0% in ")


def test_links_that_take_longer_than_the_first_ones_leave_time_for_fewer_boots(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those after the first stage may have to check out and build their trees again."""
    stages, passed = 0, 0.0

    def slow(longer: BuiltRun) -> BuiltRun | Failure:
        nonlocal stages, passed
        stages, passed = stages + 1, passed + 600.0
        return link_layouts(longer)

    monotonic = clock.monotonic
    monkeypatch.setattr(clock, "monotonic", lambda: monotonic() + passed)
    monkeypatch.setattr("cliffwatch_runner.run.run.link_layouts", slow)
    ended = timed_run(repository, "--time", "45m")
    assert ended.exit_code == 0, ended.output
    boots = boots_of(repository.parent / "results")
    planned = record(repository)["plan"]["boots"]
    first_boots = {boot["index"] for boot in planned if boot["duration"] is None}
    first = {boot["layout"] for boot in boots if boot["index"] in first_boots}
    assert stages >= 1
    assert 40 * len(boots) + 25 * len(first) + 600 * stages <= 2700


@pytest.mark.parametrize(
    ("links", "linking", "seconds"),
    [
        ((25.0,) * 12, 0.0, 25 * 15),
        ((), 0.0, 25 * 3),
        ((), 400.0, 400.0),
        ((25.0,) * 6, 400.0, 25 * 6 + 400.0),
    ],
)
def test_only_links_that_were_made_take_time(
    links: tuple[float, ...], linking: float, seconds: float
) -> None:
    """Of twelve images in the first stage and three after it."""
    plan = SimpleNamespace(
        arms=(),
        layouts_of=lambda _: range(15),
        first_boots=[SimpleNamespace(layout=each) for each in range(12)],
    )
    run = cast("BuiltRun", SimpleNamespace(plan=plan, links=links, linking_seconds=linking))
    assert timed._seconds_of_links(run, 25.0) == seconds


def test_one_layout_spends_the_time_on_boots(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_LAYOUTS", 2)  # which is no limit of boots
    ended = timed_run(repository, "--time", "30m", "--layouts", "1")
    assert ended.exit_code == 0, ended.output
    assert {boot["layout"] for boot in boots_of(repository.parent / "results")} == {None}
    said = re.search(r"go to (\d+) more boots of each kernel", " ".join(ended.stderr.split()))
    assert said is not None
    assert int(said[1]) > 2


def test_the_plan_says_what_comes_after_the_first_boots(repository: Path) -> None:
    planned = timed_run(repository, "--time", "2h", "--dry-run")
    assert planned.exit_code == 0, planned.output
    assert "then as many as fit into 2 h 00 min" in planned.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--mode", "icount", "--time", "20m"), "instruction counts repeat"),
        (("--mode", "walltime", "--accel", "tcg", "--time", "20m", "--boots", "4"), "--time and --boots"),
        (("--mode", "walltime", "--accel", "tcg", "--time", "20m", "--layouts", "4"), "leave out --layouts"),
        (("--mode", "walltime", "--accel", "tcg", "--time", "20m", "--matched"), "leave out --time"),
        (("--mode", "walltime", "--accel", "tcg", "--time", "20"), "is no time: give one such as"),
        (("--mode", "walltime", "--accel", "tcg", "--time", "0m"), "is no time: give one such as"),
        (("--mode", "walltime", "--accel", "tcg", "--time", "10s"), "10 s is too short"),
    ],
)
def test_a_time_that_cannot_be_is_said_before_anything_is_built(
    repository: Path, words: tuple[str, ...], message: str
) -> None:
    ended = run(repository, "--boots", "auto", *words)
    assert ended.exit_code == 2, ended.output
    assert message in " ".join(ended.output.split())
    assert not list(repository.parent.glob("cache/kernels/*"))
