"""`--time`: the first boots of each kernel show what more of them are worth, and the rest fills the time."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from test_modes import run
from test_rehearsal import rehearse

from cliffwatch_runner.plan.plan import PlannedBoot
from cliffwatch_runner.run.modes import timed

pytestmark = pytest.mark.usefixtures("stand_in")


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


def test_one_layout_spends_the_time_on_boots(repository: Path) -> None:
    ended = timed_run(repository, "--time", "30m", "--layouts", "1")
    assert ended.exit_code == 0, ended.output
    assert {boot["layout"] for boot in boots_of(repository.parent / "results")} == {None}
    assert "more boots of each kernel" in " ".join(ended.stderr.split())


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
        (("--mode", "walltime", "--accel", "tcg", "--time", "20"), "is not a time: give one such as"),
        (("--mode", "walltime", "--accel", "tcg", "--time", "0m"), "is not a time: give one such as"),
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
