"""A change of sides that did not take turns is a difference between two measurements, wherever a branch's
changes are told.
"""

import json

import pytest
from service_running import Running
from service_runs import MadeRun, commit_of, run_of

from cliffwatch_service.history.news.webhook import body_of
from cliffwatch_service.history.news.wording import NewsContent, headline, mail_text
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.news import outbox
from cliffwatch_service.store.history.reports import ReportsWanted, list_reports

TREE = "https://git.example.org/bpf-next.git"
BETWEEN = "between the two measurements"


def one_after_the_other(run: MadeRun) -> MadeRun:
    """The run whose boots of base all came before those of head."""
    for boot in run.record["plan"]["boots"]:
        boot["index"] = 1 + boot["block"] + 100 * (boot["arm"] == "head")
    return run


def measured(running: Running, run: MadeRun) -> None:
    running.follow(TREE, "master", [commit_of(f"r{index}") for index in range(3)])
    running.measure(run)
    running.do_tasks()


@pytest.mark.parametrize("apart", [True, False])
def test_every_door_says_so(running: Running, *, apart: bool) -> None:
    run = run_of(boots=12, cases=1, base="r0", head="r1", shift=0.5, spread=0.001)
    measured(running, one_after_the_other(run) if apart else run)

    (change,) = running.get("/changes")["items"]
    assert (change["kind"], change["apart"]) == ("regression", apart)
    with running.service.transaction() as connection:
        (news,) = outbox.list_newest_news(connection, suite=None, branch=None, limit=5)
        (report,) = list_reports(connection, ReportsWanted(limit=1))
        changes = stored_changes.changes_of_report(connection, report.id)
    whole = NewsContent(
        news=news, changes=changes, tree=None, page="https://cliffwatch.example.org/regressions/1"
    )
    said = json.loads(body_of(whole))
    slower = "1 slower (49.9 % more time)"
    assert headline(news).endswith(f"{slower} {BETWEEN}" if apart else slower)
    assert said["sentence"] == f"a regression was measured{'; the host may have made it' if apart else ''}."
    assert running.get(f"/reports/{report.digest}")["summary"] == news.summary
    assert (BETWEEN in " ".join(mail_text(whole).split())) == apart
    assert (said["report"]["apart"], said["changes"][0]["apart"]) == (apart, apart)
    answer = running.get("/answer", commit=commit_of("r1"))
    assert (answer["in_turns"], BETWEEN in answer["sentence"]) == (not apart, apart)
    with running.http(None) as http:
        for path in ("/regressions", f"/regressions/{report.digest}", f"/series/{change['series']}"):
            assert (BETWEEN in http.get(path).raise_for_status().text) == apart, path


def test_counted_values_know_no_turns(running: Running) -> None:
    run = run_of(boots=3, cases=1, base="r0", head="r1", shift=0.5, mode="icount", platform="emulated-x86-64")
    run.logs[:] = run.logs[:, :1]
    measured(running, one_after_the_other(run))

    assert [each["apart"] for each in running.get("/changes")["items"]] == [False]
