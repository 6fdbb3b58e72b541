"""News of reports by mail, webhook and issue: once each, in one thread, again where that fails, and given up
for all to see.
"""

import hashlib
import hmac
import json
from typing import Any

import psycopg
import pytest
from app_world import app_key
from news_world import BACK, WORSE
from service_runs import commit_of

from cliffwatch_service.github.app.files import AppIdentity, app_files
from cliffwatch_service.history.news.writing import write_news

LIST = "bpf@lists.example.org"


def mailed(world: Any) -> list[str]:
    """The second paragraph of each mail: what happened."""
    return [
        mail.get_content().replace("\r\n", "\n").split("\n\n")[1].replace("\n", " ")
        for mail in world.mailbox.mails
    ]


def test_a_regression_is_mailed_once_and_later_news_answer_it(world: Any) -> None:
    world.follow()
    assert world.subscribe("mail", LIST).status_code == 201
    world.measure("r0", "r1", WORSE)
    world.running.do_tasks()
    (first,) = world.mailbox.mails
    assert world.mailbox.recipients == [LIST]
    assert first["Subject"].startswith("[cliffwatch] bpf: r1: ")
    assert first["Auto-Submitted"] == "auto-generated"
    assert "In-Reply-To" not in first
    world.measure("r1", "r2", BACK, seed=2)
    _, second = world.mailbox.mails
    assert second["Subject"] == f"Re: {first['Subject']}"
    assert (second["In-Reply-To"], second["References"]) == (first["Message-ID"], first["Message-ID"])
    world.triage("new", note="not quite")
    _, _, third = world.mailbox.mails
    assert third["In-Reply-To"] == first["Message-ID"]
    assert third["References"] == f"{first['Message-ID']} {second['Message-ID']}"
    assert len({mail["Message-ID"] for mail in world.mailbox.mails}) == 3
    assert [words.split(":", 1)[1].split(",")[0].strip(" .") for words in mailed(world)] == [
        "a regression was measured",
        "the regression is fixed",
        "the report is open again",
    ]


def test_a_mail_fits_a_kernel_list(world: Any) -> None:
    world.follow()
    world.subscribe("mail", LIST)
    world.measure("r0", "r1", WORSE, cases=3)
    (mail,) = world.mailbox.mails
    text = mail.get_content().replace("\r\n", "\n")
    assert mail.get_content_type() == "text/plain"
    wide = [line for line in text.splitlines() if len(line) > 72]
    assert all("://" in line for line in wide), wide
    assert f'commit: {commit_of("r1")[:12]} ("bpf: r1")' in text
    assert f"--base {commit_of('r0')[:12]} --head {commit_of('r1')[:12]}" in text
    assert f"Closes: https://cliffwatch.example.org/regressions/{world.report()}" in text
    picture = f"/regressions/{world.report()}.svg"
    assert f"Its step, as a picture:\n  https://cliffwatch.example.org{picture}\n" in text
    with world.running.http(None) as http:
        assert http.get(picture).headers["content-type"] == "image/svg+xml"
    assert "local-storage/local-storage-cache-seq-get" in text
    assert "+10." in text or "+9." in text


def test_a_report_is_closed_and_its_fix_named_when_measurements_show_it(world: Any) -> None:
    world.follow()
    world.measure("r0", "r1", WORSE)
    world.measure("r1", "r2", BACK, seed=2)
    report = world.running.get(f"/reports/{world.report()}")
    assert report["state"] == "fixed"
    assert report["triage"][-1]["by"] == "cliffwatch"
    assert commit_of("r2")[:12] in report["triage"][-1]["note"]
    assert world.kinds() == ["new", "fixed"]


def test_half_a_fix_closes_nothing(world: Any) -> None:
    world.follow()
    world.measure("r0", "r1", WORSE)
    world.measure("r1", "r2", -0.04, seed=2)
    assert world.running.get(f"/reports/{world.report()}")["state"] == "new"
    assert world.kinds() == ["new"]


def test_a_fix_that_is_refuted_opens_the_report_again(world: Any) -> None:
    world.follow()
    world.measure("r0", "r1", WORSE)
    world.measure("r1", "r2", BACK, seed=2)
    with world.running.service.transaction() as connection:
        connection.execute("UPDATE change SET state = 'refuted' WHERE kind = 'improvement'")
        write_news(connection, world.running.clock.now())
    assert world.kinds() == ["new", "fixed", "reopened"]
    assert world.running.get(f"/reports/{world.report()}")["state"] == "new"


def test_a_report_of_which_nothing_is_left_is_withdrawn_and_comes_back_with_its_change(world: Any) -> None:
    world.follow()
    world.measure("r0", "r1", WORSE)

    def now_changes_are(state: str) -> Any:
        with world.running.service.transaction() as connection:
            connection.execute("UPDATE change SET state = %s", [state])
            write_news(connection, world.running.clock.now())
        return world.running.get(f"/reports/{world.report()}")

    withdrawn = now_changes_are("refuted")
    assert withdrawn["state"] == "noise"
    assert withdrawn["triage"][-1]["note"] == "withdrawn: further measurements show none of its regressions"
    assert now_changes_are("confirmed")["state"] == "new"
    assert world.kinds() == ["new", "closed", "reopened"]


def test_a_report_whose_regression_is_an_improvement_by_now_is_withdrawn(world: Any) -> None:
    world.follow()
    world.measure("r0", "r1", WORSE)
    with world.running.service.transaction() as connection:
        connection.execute("UPDATE change SET kind = 'improvement'")
        write_news(connection, world.running.clock.now())
    assert world.running.get(f"/reports/{world.report()}")["state"] == "noise"
    assert world.kinds() == ["new", "closed"]


def test_more_cases_and_the_culprit_are_news_and_nothing_twice(world: Any) -> None:
    world.follow()
    world.measure("r0", "r2", WORSE)
    world.measure("r0", "r2", WORSE, cases=3, seed=3)
    assert world.kinds() == ["new", "more cases"]
    with world.running.service.transaction() as connection:
        connection.execute(
            "UPDATE regression_report SET base_revision_id = (SELECT id FROM revision WHERE commit = %s)",
            [commit_of("r1")],
        )
        assert write_news(connection, world.running.clock.now()) == 1
        assert write_news(connection, world.running.clock.now()) == 0
    assert world.kinds() == ["new", "more cases", "culprit"]


def test_a_report_that_nobody_answers_asks_again_once_after_six_weeks(world: Any) -> None:
    world.follow()
    world.subscribe("mail", LIST)
    world.subscribe("webhook", f"{world.receiver.url}/hooks/team")
    world.measure("r0", "r1", WORSE)

    def wait(**time: float) -> list[str]:
        """The kinds of all news, after a minute's round."""
        world.running.clock.pass_(**time)
        with world.running.service.transaction() as connection:
            write_news(connection, world.running.clock.now())
        world.running.do_tasks()
        return list(world.kinds())

    assert wait(days=41) == ["new"]
    assert wait(days=1) == ["new", "unanswered"]
    assert wait(minutes=1) == wait(days=200) == ["new", "unanswered"]
    assert "nobody has answered for 6 weeks" in mailed(world)[1]
    assert [json.loads(body)["kind"] for body in world.receiver.bodies] == ["new", "unanswered"]
    world.measure("r1", "r2", BACK, seed=2)
    assert world.kinds() == ["new", "unanswered", "fixed"]


def test_who_answered_a_report_is_not_asked_again(world: Any) -> None:
    world.follow()
    world.measure("r0", "r1", WORSE)
    world.triage("new", owner="ada", note="I look at it")
    world.running.clock.pass_(weeks=7)
    with world.running.service.transaction() as connection:
        write_news(connection, world.running.clock.now())
    assert world.kinds() == ["new"]


def test_news_are_stored_with_what_they_are_about_or_not_at_all(world: Any, database: str) -> None:
    world.follow()
    world.subscribe("mail", LIST)
    world.measure("r0", "r1", WORSE)
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE regression_report SET state = 'noise'")
        assert write_news(connection, world.running.clock.now()) == 1
        connection.rollback()
    assert world.kinds() == ["new"]
    world.running.do_tasks()
    assert len(world.mailbox.mails) == 1


def test_what_a_mail_server_refuses_for_now_is_tried_again_and_given_up_at_last(world: Any) -> None:
    world.follow()
    world.subscribe("mail", LIST)
    world.mailbox.refusal = "451 try again later"
    world.measure("r0", "r1", WORSE)
    assert world.deliveries() == [("waiting", 1)]
    world.round()
    assert world.deliveries() == [("waiting", 1)], "tried before it was due"
    for tried in range(2, 15):
        world.running.clock.pass_(hours=6)
        world.round()
        assert world.deliveries() == [("given up" if tried == 14 else "waiting", tried)]
    world.running.clock.pass_(hours=6)
    world.round()
    assert world.mailbox.tries == 14
    (listed,) = world.running.get("/subscriptions", "triage")["items"]
    assert (listed["given_up"], listed["waiting"]) == (1, 0)
    assert "451: try again later" in listed["reason"]


def test_a_mail_server_that_comes_back_gets_everything_in_order(world: Any) -> None:
    world.follow()
    world.subscribe("mail", LIST)
    world.mailbox.refusal = "451 try again later"
    world.measure("r0", "r1", WORSE)
    world.measure("r1", "r2", BACK, seed=2)
    assert world.deliveries() == [("waiting", 1), ("waiting", 0)]
    world.mailbox.refusal = None
    world.running.clock.pass_(minutes=2)
    world.round()
    assert world.deliveries() == [("delivered", 2), ("delivered", 1)]
    first, second = world.mailbox.mails
    assert second["In-Reply-To"] == first["Message-ID"]


def test_what_is_refused_for_good_is_not_tried_again(world: Any) -> None:
    world.follow()
    world.subscribe("mail", LIST)
    world.mailbox.refusal = "550 no such user"
    world.measure("r0", "r1", WORSE)
    assert world.deliveries() == [("given up", 1)]


def test_a_flood_of_news_waits(world: Any) -> None:
    """The settings let four a day through."""
    world.follow()
    world.subscribe("mail", LIST)
    world.measure("r0", "r1", WORSE)
    for state in ("noise", "new", "noise", "new", "noise"):
        world.triage(state)
    assert len(world.mailbox.mails) == 4
    assert [state for state, _ in world.deliveries()] == ["delivered"] * 4 + ["waiting"] * 2
    world.running.clock.pass_(hours=25)
    world.round()
    assert [state for state, _ in world.deliveries()] == ["delivered"] * 6


@pytest.mark.parametrize(
    ("more", "mails"),
    [
        ({"suites": ["local-storage"]}, 1),
        ({"suites": ["string-maps"]}, 0),
        ({"subsystems": ["bpf"]}, 1),
        ({"subsystems": ["mm"]}, 0),
    ],
)
def test_a_subscription_takes_what_it_asks_for(world: Any, more: dict[str, Any], mails: int) -> None:
    world.follow()
    assert world.subscribe("mail", LIST, **more).status_code == 201
    world.measure("r0", "r1", WORSE)
    assert len(world.mailbox.mails) == mails


def test_muted_subscriptions_and_reports_are_silent(world: Any) -> None:
    world.follow()
    whole = world.subscribe("mail", LIST).json()["subscription"]
    one = world.subscribe("mail", "ada@team.example.org").json()["subscription"]
    world.measure("r0", "r1", WORSE)
    assert len(world.mailbox.mails) == 2
    with world.running.http("triage") as http:
        http.post(f"/api/v1/subscriptions/{whole}/mute", json={"days": 7}).raise_for_status()
        http.post(f"/api/v1/subscriptions/{one}/mute", json={"report": world.report()}).raise_for_status()
    world.triage("noise")
    assert len(world.mailbox.mails) == 2
    world.running.clock.pass_(days=8)
    world.triage("new")
    assert world.mailbox.recipients[2:] == [LIST]


def test_an_address_has_one_subscription(world: Any) -> None:
    assert world.subscribe("mail", LIST).status_code == 201
    again = world.subscribe("mail", LIST.upper(), "admin")
    assert (again.status_code, again.json()["title"]) == (409, "subscribed already")


def test_a_webhook_is_signed_and_its_body_is_what_is_documented(world: Any) -> None:
    world.follow()
    made = world.subscribe("webhook", f"{world.receiver.url}/hooks/team").json()
    world.measure("r0", "r1", WORSE, cases=3)
    (body,), (headers,) = world.receiver.bodies, world.receiver.sent
    moment, signature = (part.split("=", 1)[1] for part in headers["x-cliffwatch-signature"].split(","))
    expected = hmac.new(made["secret"].encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(signature, expected)
    assert int(moment) == int(world.running.clock.now().timestamp())
    content = json.loads(body)
    assert set(content) == {
        "version",
        "news",
        "kind",
        "at",
        "headline",
        "sentence",
        "report",
        "functions",
        "changes",
    }
    assert (content["version"], content["kind"], content["news"]) == (
        1,
        "new",
        headers["x-cliffwatch-delivery"],
    )
    assert content["report"]["report"] == world.report()
    assert content["report"]["culprit"] == commit_of("r1")
    assert len(content["changes"]) == content["report"]["cases"] == 3
    assert content["changes"][0]["change"] == pytest.approx(0.1, abs=0.03)


def test_a_webhook_goes_nowhere_but_where_it_was_allowed(world: Any) -> None:
    """An allowed server that redirects to an address inside: nothing is asked there."""
    world.follow()
    world.subscribe("webhook", f"{world.receiver.url}/hooks")
    world.receiver.status = 307
    world.receiver.headers["Location"] = f"{world.receiver.url}/internal"
    world.measure("r0", "r1", WORSE)
    assert world.receiver.paths == ["/hooks"]
    assert world.deliveries() == [("waiting", 1)]
    (listed,) = world.running.get("/subscriptions", "triage")["items"]
    assert "redirects are not followed" in listed["reason"]


def test_a_webhook_that_is_gone_is_given_up(world: Any) -> None:
    world.follow()
    world.subscribe("webhook", f"{world.receiver.url}/hooks")
    world.receiver.status = 410
    world.measure("r0", "r1", WORSE)
    assert world.deliveries() == [("given up", 1)]


@pytest.fixture
def app(world: Any) -> Any:
    """The App, installed on bpf/linux."""
    files = app_files(world.running.service.settings)
    known, hub = world.hub.kept.app, world.hub
    known.public_key = app_key()[1]
    files.keep_identity(
        AppIdentity(
            id=known.identity, slug=known.slug, name=known.slug, owner="bpf", page="https://github.com/apps/x"
        )
    )
    files.keep_private_key(app_key()[0])
    repository = hub.kept.repository("bpf/linux")
    installation = hub.kept.install("bpf/linux")
    with world.running.service.transaction() as connection:
        connection.execute(
            "INSERT INTO github_installation (id, account, state, looked) VALUES (%s, 'bpf', 'active',"
            " now())",
            [installation.identity],
        )
        connection.execute(
            "INSERT INTO github_repository (id, installation_id, name) VALUES (%s, %s, 'bpf/linux')",
            [repository.identity, installation.identity],
        )
    return repository


def test_a_report_is_one_issue_with_its_news_as_comments(world: Any, app: Any) -> None:
    world.follow()
    assert world.subscribe("issue", "bpf/linux").status_code == 201
    world.measure("r0", "r1", WORSE)
    (issue,) = app.issues.values()
    page = f"https://cliffwatch.example.org/regressions/{world.report()}"
    assert f"[![The step in its history]({page}.svg)]({page})" in issue.body
    assert issue.title.startswith("bpf: r1: ")
    assert issue.state == "open"
    assert f"/regressions/{world.report()}" in issue.body
    world.measure("r1", "r2", BACK, seed=2)
    assert len(app.issues) == 1
    assert issue.state == "closed"
    (comment,) = app.comments.values()
    assert "the regression is fixed" in comment.body.replace("\n", " ")
    world.triage("new")
    assert issue.state == "open"
    assert len(app.comments) == 2


def test_an_issue_whose_answer_was_lost_is_not_opened_twice(world: Any, app: Any) -> None:
    world.follow()
    world.subscribe("issue", "bpf/linux")
    world.hub.faults.next("issues/create", "lost")
    world.measure("r0", "r1", WORSE)
    assert world.deliveries() == [("waiting", 1)]
    world.running.clock.pass_(minutes=5)
    world.round()
    assert world.deliveries() == [("delivered", 2)]
    assert len(app.issues) == 1


def test_a_repository_without_the_app_is_said(world: Any) -> None:
    world.follow()
    world.subscribe("issue", "bpf/linux")
    world.measure("r0", "r1", WORSE)
    (listed,) = world.running.get("/subscriptions", "triage")["items"]
    assert "the App is not installed on bpf/linux" in listed["reason"]
