"""A change in walltime is located in icount where that shows it, and ascribed to the commit once walltime
bears it out there.
"""

import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import toy
from following_a_branch import follow, look, walltime
from history_with_culprits import PlantedHistory
from service_running import Running
from stand_in_host import StandInHost

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.samples import Mode
from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch_service.history.bisection.locating import icount_shows, is_counted, named_pairs
from cliffwatch_service.store import background
from cliffwatch_service.store.history.bisections import BisectionRow
from cliffwatch_service.store.history.locating import CountedChangeRow
from cliffwatch_service.store.series import SeriesRow

Levels = Callable[[str], Mapping[int, float]]


ROME = walltime("amd-rome")
"""Followed in walltime alone."""


def rome(running: Running, levels: Levels, platform: str = "amd-rome") -> StandInHost:
    return StandInHost(running, levels, platform=platform, modes=("walltime",), spread=0.005, boots=20)


def emulator(running: Running, levels: Levels) -> StandInHost:
    """A host that offers icount, and has said so."""
    host = StandInHost(running, levels)
    assert host.take() is None
    return host


def work_off(*hosts: StandInHost) -> None:
    while sum(host.work_off() for host in hosts):
        pass


def confirmed_in_walltime(
    running: Running, served: Any, tmp_path: Path
) -> tuple[str, StandInHost, StandInHost]:
    """Five commits whose third slows a case, and a push that walltime has answered: the culprit, and the
    hosts that count and time.
    """
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, ROME)
    history.commits(2)
    culprit = history.commit("bpf: Slow down the lookup", case=0, slower=0.06)
    history.commits(2)
    counting = emulator(running, history.levels)
    look(running, number, tmp_path)
    timing = rome(running, history.levels)
    assert timing.work_off() == 1
    return culprit, counting, timing


def advance(running: Running) -> None:
    """What the clock asks for each minute."""
    with running.service.transaction() as connection:
        background.ask_advance(connection)
    running.do_tasks()


def located(running: Running) -> set[tuple[str, str, str, str | None]]:
    """Of every confirmed change: platform, the two commits, and the mode in which these were located."""
    items = running.get("/changes", state="confirmed", limit=200)["items"]
    return {(each["platform"], each["base"], each["head"], each["located_in"]) for each in items}


def why(running: Running) -> str:
    """What is said of the only bisection in walltime."""
    (row,) = running.rows("SELECT why FROM bisection WHERE mode = 'walltime'")
    return str(row["why"])


def text_of(running: Running, path: str) -> str:
    """What a page says, without its markup."""
    with running.http(None) as http:
        page = http.get(path).raise_for_status().text
    return " ".join(re.sub(r"<[^>]*>", " ", page.partition("<main")[2]).split())


def parent(repository: Path, commit: str) -> str:
    return toy.git(repository, "rev-parse", f"{commit}^")


def test_a_change_that_icount_shows_is_located_there_and_verified_once_in_walltime(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, ROME)
    start = toy.git(repository, "rev-parse", "HEAD")
    history.commits(6)
    culprit = history.commit("bpf: Slow down the lookup", case=0, slower=0.06)
    end = history.commits(6)[-1]
    counting = emulator(running, history.levels)
    look(running, number, tmp_path)
    timing = rome(running, history.levels)
    work_off(timing, counting)

    before = parent(repository, culprit)
    assert timing.jobs == [(start, end, "walltime"), (before, culprit, "walltime")]
    assert counting.jobs[0] == (start, end, "icount")
    assert len(counting.jobs) <= 6
    assert located(running) == {
        ("amd-rome", before, culprit, "icount"),
        ("emulated-x86-64", before, culprit, None),
    }
    (report,) = running.get("/reports")["items"]
    assert (report["base"], report["head"], report["changes"]) == (before, culprit, 2)
    page = text_of(running, f"/regressions/{report['report']}")
    assert "amd-rome walltime located in icount" in page
    assert (
        "bisection amd-rome walltime: done , located in icount; walltime shows the change at the same commit"
        in page
    )
    asked = {each["note"].rpartition(", ")[2]: each["boots"] for each in running.get("/requests")["items"]}
    assert asked["both ends in icount"] == "auto"
    assert asked["the commit that icount named"] not in ("auto", "staged")
    assert why(running) == "located in icount; walltime shows the change at the same commit"


def test_a_change_that_icount_does_not_show_is_bisected_in_walltime(
    running: Running, served: Any, tmp_path: Path
) -> None:
    """As one of caches or of layout."""
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, ROME)
    start = toy.git(repository, "rev-parse", "HEAD")
    history.commits(3)
    culprit = history.commit("bpf: Move the lookup", case=0, slower=0.06)
    end = history.commits(3)[-1]
    counting = emulator(running, lambda _: {})
    look(running, number, tmp_path)
    timing = rome(running, history.levels)
    work_off(timing, counting)

    assert counting.jobs == [(start, end, "icount")]
    assert located(running) == {("amd-rome", parent(repository, culprit), culprit, None)}
    assert (
        why(running) == "in walltime: icount on emulated-x86-64 shows less than 50 % of the change, or none"
    )


def test_series_that_icount_does_not_show_belong_to_its_commit_or_are_bisected_in_walltime(
    running: Running, served: Any, tmp_path: Path
) -> None:
    """Of three cases that get slower one executes more; another does so at the same commit, and the third at
    a later one, inside a merge.
    """
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, ROME)
    first = history.commit("bpf: Slow down the lookup", case=0, slower=0.06)
    history.commits(2)
    history.branch("topic", first)
    history.commits(1)
    second = history.commit("bpf: Move the control", case=2, slower=0.08)
    history.merge("topic")

    def timed(commit: str) -> dict[int, float]:
        levels = history.levels(commit)
        return levels | ({1: 0.07} if 0 in levels else {})

    def counted(commit: str) -> dict[int, float]:
        return {case: slower for case, slower in history.levels(commit).items() if case == 0}

    counting = emulator(running, counted)
    look(running, number, tmp_path)
    timing = rome(running, timed)
    work_off(timing, counting)

    walltime = [
        each for each in running.get("/changes", state="confirmed")["items"] if each["mode"] == "walltime"
    ]
    assert {
        (int(next(iter(each["params"].values()))), each["head"], each["located_in"]) for each in walltime
    } == {
        (0, first, "icount"),
        (1, first, "icount"),
        (2, second, None),
    }
    assert timing.jobs[1] == (parent(repository, first), first, "walltime")
    assert {each["head"]: each["changes"] for each in running.get("/reports")["items"]} == {
        first: 3,
        second: 1,
    }


def test_a_commit_that_walltime_does_not_bear_out_is_not_named(
    running: Running, served: Any, tmp_path: Path
) -> None:
    """More instructions in one commit, more time in another: the commit with more instructions is a change in
    icount alone.
    """
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, ROME)
    counted = history.commits(2)[-1]
    history.commits(3)
    culprit = history.commit("bpf: Move the lookup", case=0, slower=0.06)
    history.commits(2)
    counting = emulator(running, PlantedHistory(repository, {counted: (0, 0.05)}).levels)
    look(running, number, tmp_path)
    timing = rome(running, history.levels)
    work_off(timing, counting)

    assert (parent(repository, counted), counted, "walltime") in timing.jobs
    assert located(running) == {
        ("emulated-x86-64", parent(repository, counted), counted, None),
        ("amd-rome", parent(repository, culprit), culprit, None),
    }
    assert {each["head"] for each in running.get("/reports")["items"]} == {counted, culprit}
    assert why(running) == f"in walltime: it does not bear out {counted[:12]}, which icount names"


def test_without_a_host_that_counts_it_is_bisected_in_walltime_at_once(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, ROME)
    counting = emulator(running, history.levels)
    running.clock.pass_(days=3)  # a host that was there once
    history.commits(2)
    culprit = history.commit("bpf: Slow down the lookup", case=0, slower=0.06)
    history.commits(2)
    look(running, number, tmp_path)
    timing = rome(running, history.levels)
    timing.work_off()

    assert located(running) == {("amd-rome", parent(repository, culprit), culprit, None)}
    assert why(running).startswith("in walltime: no host has offered icount for 2 days")
    assert counting.work_off() == 0


def test_where_icount_does_not_answer_walltime_goes_on_and_the_late_answer_changes_nothing(
    running: Running, served: Any, tmp_path: Path
) -> None:
    _, repository = served
    culprit, counting, timing = confirmed_in_walltime(running, served, tmp_path)
    late = counting.take()
    assert late is not None
    running.clock.pass_(days=2, minutes=1)
    advance(running)
    assert timing.work_off() > 2
    expected = {("amd-rome", parent(repository, culprit), culprit, None)}
    assert located(running) == expected
    assert why(running) == (
        "in walltime: both ends were not compared in icount, on emulated-x86-64: not done within 2 days"
    )
    reports = [each["report"] for each in running.get("/reports")["items"]]
    counting.work_off()
    timing.work_off()
    assert {each for each in located(running) if each[0] == "amd-rome"} == expected
    assert {each["report"] for each in running.get("/reports")["items"]} >= set(reports)


def test_a_culprit_that_icount_knows_already_is_only_verified(
    running: Running, served: Any, tmp_path: Path
) -> None:
    """Of a branch that is followed in icount too: its ends are not compared there."""
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, ROME)
    body = {
        "tree": url,
        "branch": "master",
        "policy": "commit",
        "targets": [{"platform": "emulated-x86-64", "mode": "icount"}],
        "suites": ["local-storage"],
    }
    with running.http("admin") as http:
        each_commit = int(http.post("/api/v1/follows", json=body).raise_for_status().json()["follow"])
    look(running, each_commit, tmp_path)
    history.commits(2)
    culprit = history.commit("bpf: Slow down the lookup", case=0, slower=0.06)
    history.commits(2)
    counting = emulator(running, history.levels)
    look(running, each_commit, tmp_path)
    known = counting.work_off()
    look(running, number, tmp_path)
    timing = rome(running, history.levels)
    work_off(timing, counting)

    before = parent(repository, culprit)
    assert (len(counting.jobs), len(timing.jobs)) == (known, 2)
    assert timing.jobs[-1] == (before, culprit, "walltime")
    assert ("amd-rome", before, culprit, "icount") in located(running)


def test_pages_say_in_which_mode_it_is_bisected_and_why(
    running: Running, served: Any, tmp_path: Path
) -> None:
    culprit, counting, _ = confirmed_in_walltime(running, served, tmp_path)
    assert "amd-rome walltime first in icount, on emulated-x86-64: both ends" in text_of(running, "/branches")

    assert counting.work_off(1) == 1
    shown = "in icount on emulated-x86-64, which shows the change: +6.00 % there, +"
    (report,) = running.get("/reports")["items"]
    assert f"amd-rome walltime {shown}" in text_of(running, "/branches")
    assert f"bisection amd-rome walltime: open , {shown}" in text_of(
        running, f"/regressions/{report['report']}"
    )

    counting.work_off()
    verified = f"icount names {culprit[:12]}, which walltime compares with the commit before"
    assert f"amd-rome walltime {verified}" in text_of(running, "/branches")


@pytest.mark.parametrize("seed", range(3))
def test_in_whatever_order_hosts_answer_and_how_often_the_end_is_the_same(
    seed: int, running: Running, served: Any, tmp_path: Path
) -> None:
    """Two platforms in walltime wait for one bisection in icount; what is analysed twice, and a task that
    runs once more, change nothing.
    """
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, walltime("amd-rome", "intel-skylake"))
    history.commits(3)
    culprit = history.commit("bpf: Slow down the lookup", case=0, slower=0.06)
    history.commits(2)
    hosts = [emulator(running, history.levels), rome(running, history.levels)]
    hosts.append(rome(running, history.levels, "intel-skylake"))
    look(running, number, tmp_path)
    running.do_tasks()

    drawn = random.Random(seed)
    while work := next(filter(None, (host.take() for host in drawn.sample(hosts, len(hosts)))), None):
        next(host for host in hosts if host.platform == work["platform"]).do(work)
        analysed = running.rows("SELECT digest FROM run ORDER BY digest")
        if analysed and drawn.random() < 0.5:
            with running.service.transaction() as connection:
                background.ask_analysis(connection, drawn.choice(analysed)["digest"])
        advance(running)

    before = parent(repository, culprit)
    assert located(running) == {
        ("amd-rome", before, culprit, "icount"),
        ("intel-skylake", before, culprit, "icount"),
        ("emulated-x86-64", before, culprit, None),
    }
    (report,) = running.get("/reports")["items"]
    assert (report["head"], report["changes"]) == (culprit, 3)
    ends = [
        each
        for each in running.get("/requests", limit=200)["items"]
        if each["note"].endswith("both ends in icount")
    ]
    assert len(ends) == 1


LINE = Graph({"e": ("d",), "d": ("c",), "c": ("b",), "b": ("a",), "a": ()})


def the_range() -> BisectionRow:
    about: dict[str, Any] = dict.fromkeys(BisectionRow.__dataclass_fields__)
    return BisectionRow(**{**about, "base": "a", "head": "e"})


@pytest.mark.parametrize(
    ("size", "base", "head", "by_bisection", "named"),
    [
        (0.05, "b", "c", False, True),
        (0.03, "b", "c", False, True),
        (0.029, "b", "c", False, False),
        (-0.05, "b", "c", False, False),
        (0.05, "a", "e", True, False),
        (0.05, "b", "d", False, False),
        (0.05, "b", "d", True, True),
        (0.05, "z", "a", True, False),
    ],
    ids=["alone", "half", "less", "better", "whole", "several", "several not narrowed", "outside"],
)
def test_which_changes_in_icount_name_a_commit(
    size: float, base: str, head: str, by_bisection: bool, named: bool
) -> None:
    change = CountedChangeRow("lookup", size, base, head, by_bisection)
    assert named_pairs([change], {"lookup": 0.06}, LINE, the_range()) == (
        {"lookup": (base, head)} if named else {}
    )


def test_half_of_a_change_in_the_same_direction_shows_it() -> None:
    assert icount_shows(0.01, 0.02)
    assert icount_shows(-0.03, -0.02)
    assert not icount_shows(0.0099, 0.02)
    assert not icount_shows(-0.02, 0.02)


def test_what_icount_cannot_measure_is_not_asked_there() -> None:
    """Threads that run at the same time; what does not repeat."""
    catalogue = load_catalogue()
    specs = [
        (suite, benchmark, case)
        for suite in catalogue.suites
        for benchmark in suite.benchmarks
        for case in benchmark.cases
    ]

    def counted(wanted: Callable[[Any, Any], bool]) -> set[bool]:
        mode: Mode = "walltime"
        return {
            is_counted(
                SeriesRow(
                    1,
                    "",
                    suite.name,
                    benchmark.name,
                    [list(each) for each in case.params],
                    metric,
                    shape.unit,
                    "",
                    mode,
                )
            )
            for suite, benchmark, case in specs
            if wanted(benchmark, case)
            for metric, shape in suite.shapes(benchmark).items()
            if shape.primary
        }

    assert counted(lambda _, case: case.guest.concurrent) == {False}
    assert counted(lambda benchmark, _: benchmark.name == "local-storage-cache-seq-get") == {True}
