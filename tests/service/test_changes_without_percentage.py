"""A change from zero on a followed branch: it is kept, reported and told by the values of both sides, in
place of a percentage.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy
from following_a_branch import EMULATED, follow, look, walltime
from history_with_culprits import PlantedHistory
from service_running import Running
from service_runs import MadeRun, commit_of, run_of
from stand_in_host import StandInHost

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.stats.history.culprits.question import Pair, RowStep
from cliffwatch_service.history.bisection.judging import Judge
from cliffwatch_service.history.bisection.locating import icount_shows
from cliffwatch_service.history.change_words import change_words
from cliffwatch_service.history.news.webhook import body_of
from cliffwatch_service.history.news.wording import NewsContent, headline, mail_text
from cliffwatch_service.history.report_summary import tally
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.news import outbox
from cliffwatch_service.store.history.reports import ReportsWanted, list_reports

TREE = "https://git.example.org/bpf-next.git"
WORDS = "0 to 2 kmallocs/create"


def allocations_of(
    base: float, head: float, revisions: tuple[str, str], *, cases: int = 1, seed: int = 1
) -> MadeRun:
    """A run in which every boot of a side allocates as often in the first case, and 10 % more often on head
    in any further one.
    """
    run = run_of(boots=8, cases=cases, base=revisions[0], head=revisions[1], seed=seed, spread=0.001)
    with np.errstate(divide="ignore"):
        run.logs[0, :, 0], run.logs[1, :, 0] = np.log(base), np.log(head)
    run.logs[1, :, 1:] += np.log1p(0.1)
    for case in run.record["plan"]["cases"]:
        case |= {"suite": "local-storage-create", "benchmark": "local-storage-create"}
    return MadeRun(run.record, run.host, run.logs, run.digest, ("kmallocs", "kmallocs/create"))


def measured(running: Running, *runs: MadeRun) -> None:
    running.follow(TREE, "master", [commit_of(f"r{index}") for index in range(5)])
    for run in runs:
        running.measure(run)
    running.do_tasks()


def test_a_change_from_zero_is_in_the_change_table_with_its_values(running: Running) -> None:
    measured(running, allocations_of(0, 2, ("r0", "r1")))

    (change,) = running.get("/changes")["items"]
    assert (change["state"], change["kind"], change["size"]) == ("confirmed", "regression", None)
    assert (change["base_value"], change["head_value"], change["unit"]) == (0, 2, "kmallocs/create")
    (report,) = running.get("/reports")["items"]
    assert (report["changes"], report["largest"]) == (1, None)


def test_a_change_with_a_percentage_has_no_values(running: Running) -> None:
    measured(running, allocations_of(100, 110, ("r0", "r1")))

    (change,) = running.get("/changes")["items"]
    assert change["size"] == pytest.approx(0.1)
    assert (change["base_value"], change["head_value"]) == (None, None)


def test_what_has_no_percentage_stands_before_the_largest(running: Running) -> None:
    measured(running, allocations_of(0, 2, ("r0", "r1"), cases=3))

    (report,) = running.get("/reports")["items"]
    whole = running.get(f"/reports/{report['report']}")
    assert [each["size"] is None for each in whole["changes"]] == [True, False, False]
    assert report["largest"] == pytest.approx(0.1, abs=0.01)


def test_the_report_is_closed_once_it_reads_zero_again(running: Running) -> None:
    measured(running, allocations_of(0, 2, ("r0", "r1")), allocations_of(2, 0, ("r1", "r2"), seed=2))

    (report,) = running.get("/reports", state="fixed")["items"]
    assert report["base"] == commit_of("r0")
    assert [each["kind"] for each in running.get("/changes")["items"]] == ["improvement", "regression"]


def test_every_page_says_the_values(running: Running) -> None:
    measured(running, allocations_of(0, 2, ("r0", "r1"), cases=2))

    (report,) = running.get("/reports")["items"]
    series = running.get("/changes")["items"][-1]["series"]
    with running.http(None) as http:
        for path in (
            "/",
            "/regressions",
            f"/regressions/{report['report']}",
            f"/series/{series}",
            "/api/v1/feed",
        ):
            answer = http.get(path).raise_for_status()
            assert WORDS in " ".join(answer.text.split()), path
            assert "None" not in answer.text, path


def test_news_say_the_values(running: Running) -> None:
    measured(running, allocations_of(0, 2, ("r0", "r1")))

    with running.service.transaction() as connection:
        (news,) = outbox.list_newest_news(connection, suite=None, branch=None, limit=5)
        (report,) = list_reports(connection, ReportsWanted(limit=1))
        (change,) = stored_changes.changes_of_report(connection, report.id)
    assert (news.worst, news.summary) == (None, f"1 worse ({WORDS})")
    assert headline(news) == f"bpf: r1: 1 worse ({WORDS})"
    assert change_words(change) == WORDS
    mail = mail_text(
        NewsContent(
            news=news, changes=[change], tree=None, page="https://cliffwatch.example.org/regressions/1"
        )
    )
    assert f"{WORDS}  local-storage-create/local-storage-create" in mail
    (listed,) = json.loads(body_of(NewsContent(news=news, changes=[change], tree=None, page="")))["changes"]
    assert (listed["change"], listed["base_value"], listed["head_value"]) == (None, 0, 2)
    assert (tally([change]).worst, tally([change]).words) == (None, f"1 worse ({WORDS})")


def row(base: float, head: float, verdict: str, change: float | None) -> ComparisonRow:
    return ComparisonRow(
        suite="s",
        benchmark="b",
        params={},
        metric="kmallocs",
        unit="kmallocs/create",
        better="lower",
        platform=None,
        mode=None,
        n_base=8,
        n_head=8,
        base=base,
        head=head,
        change=change,
        ci_low=None,
        ci_high=None,
        p=None,
        q=None,
        mde=None,
        threshold=0.01,
        interval_level=None,
        verdict=verdict,  # type: ignore[arg-type]
        reason="",
        needs=None,
        notes=(),
        primary=True,
    )


@pytest.mark.parametrize(
    ("exact", "base", "head", "verdict", "change", "way"),
    [
        (False, 0, 2, "regression", None, "regression"),
        (False, 0, 0, "unchanged", None, "none"),
        (False, 0, 0.5, "inconclusive", None, "none"),
        (False, 1, 2, "regression", 1.0, "regression"),
        (True, 0, 2, "regression", None, "regression"),
        (True, 0, 0, "unchanged", 0.0, "none"),
        (True, 0, 1, "inconclusive", None, "open"),
    ],
)
def test_a_bisection_is_led_by_the_part_of_the_difference(
    *, exact: bool, base: float, head: float, verdict: str, change: float | None, way: str
) -> None:
    pair = Pair("a", "b")
    judge = Judge(
        exact=exact,
        sizes={"s": None},
        differences={"s": 2.0},
        measured={pair: {"s": row(base, head, verdict, change)}},
    )

    judged = judge.judged(pair)

    assert judged is not None
    assert judged.row("s").way == way


@pytest.mark.parametrize(("after", "way"), [(2.0, "regression"), (0.0, "none")])
def test_counted_values_of_other_pairs_answer_from_zero_too(after: float, way: str) -> None:
    rows = {
        Pair("a", "m"): {"s": row(0, 0, "unchanged", 0.0)},
        Pair("n", "z"): {"s": row(after, 2, "regression", None)},
    }
    judge = Judge(exact=True, sizes={"s": None}, differences={"s": 2.0}, measured=rows)

    judged = judge.judged(Pair("m", "n"))

    assert judged is not None
    assert judged.row("s") == RowStep(way, 0, after, 0)  # type: ignore[arg-type]


def test_icount_shows_no_change_that_cannot_be_set_against_another() -> None:
    assert icount_shows(0.1, 0.1)
    assert not icount_shows(None, 0.1)
    assert not icount_shows(0.1, None)


def test_the_series_page_draws_the_values(running: Running) -> None:
    measured(running, allocations_of(0, 2, ("r0", "r1")))

    series = running.get("/changes")["items"][0]["series"]
    with running.http(None) as http:
        text = http.get(f"/series/{series}").raise_for_status().text
    assert json.dumps({"words": WORDS})[1:-1].replace(": ", ":") in text


@pytest.mark.parametrize("mode", ["icount", "walltime"])
def test_a_change_from_zero_is_bisected_to_its_commit(
    running: Running, served: Any, tmp_path: Path, mode: str
) -> None:
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, EMULATED if mode == "icount" else walltime("amd-rome"))
    history.commits(3)
    culprit = history.commit("bpf: Allocate twice an operation")
    history.commits(3)
    look(running, number, tmp_path)
    after = set(toy.git(repository, "rev-list", f"{culprit}^..HEAD").split())

    def levels(commit: str) -> dict[int, float]:
        return {0: -0.98 if commit in after else -1.0}

    platform = "emulated-x86-64" if mode == "icount" else "amd-rome"
    with np.errstate(divide="ignore"):
        StandInHost(running, levels, platform=platform, modes=(mode,), cases=2).work_off(60)

    (change,) = running.get("/changes", state="confirmed")["items"]
    assert (change["head"], change["size"], change["base_value"], change["head_value"]) == (
        culprit,
        None,
        0,
        2,
    )
    (report,) = running.get("/reports")["items"]
    assert report["head"] == culprit
