"""Signing in is for writing: what it lets people do, and what nobody can do in their name."""

from datetime import timedelta
from typing import Any

import pytest
from browsing import sign_in
from playwright.sync_api import expect
from service_running import Running
from service_runs import commit_of, put_all, run_of


@pytest.fixture
def reported(running: Running) -> Any:
    """A service with one regression report."""
    with running.http("upload") as http:
        put_all(http, run_of(boots=12, cases=3, shift=0.1, parents={"head": ["base"]}))
    running.make_history()
    running.do_tasks()
    return running


@pytest.mark.parametrize("script", [True, False])
def test_a_report_is_triaged_where_it_is_read(script: bool, reported: Any, watched: Any) -> None:
    page = watched.window(reported, script=script)
    sign_in(page, reported, "triage")
    page.goto("/regressions")
    page.get_by_label("State").select_option("acknowledged")
    page.get_by_label("Owner").fill("maintainer")
    page.get_by_label("Note").fill("seen on two hosts")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/regressions")
    page.locator("article.report a.row").click()
    text = page.locator("main").inner_text()
    assert "triage: acknowledged, owner maintainer: seen on two hosts" in text
    page.goto("/regressions?state=new")
    assert "No report is in this state." in page.locator("main").inner_text()


def test_more_boots_are_asked_for_from_a_row(reported: Any, watched: Any) -> None:
    reported.enrol("amd-rome")
    page = watched.window(reported)
    pair = f"/compare/{commit_of('base')}...{commit_of('head')}"
    page.goto(pair)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("tr.unfolded").get_by_role("link", name="Signing in").click()
    page.get_by_label("Token").fill(reported.tokens["upload"])
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Measure local-storage again").click()
    page.wait_for_url("**/requests/*")
    assert "careful boots" in page.locator("main").inner_text()
    page.get_by_role("link", name="amd-rome walltime").click()
    page.get_by_role("button", name="Cancel this job").click()
    expect(page.locator(".state.cancelled").first).to_be_visible()
    assert reported.rows("SELECT count(*) AS n FROM request")[0]["n"] == 1


def test_who_signed_in_is_said_and_can_leave(reported: Any, watched: Any) -> None:
    page = watched.window(reported)
    sign_in(page, reported, "triage")
    assert page.locator(".who form span").inner_text() == "triage"
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    page.goto("/regressions")
    assert page.get_by_role("button", name="Save").count() == 0


def test_a_private_service_asks_strangers_to_sign_in_and_lets_them_go_on(
    running: Running, watched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(running.service.settings.__dict__, "public_reading", False)
    page = watched.window(running)
    answer = page.goto("/runs?platform=amd-rome")
    assert answer.status == 401
    watched.complaints.clear()
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    page.get_by_label("Token").fill(running.tokens["read"])
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/runs?platform=amd-rome")
    assert page.locator("h1").inner_text() == "Runs"


def cookie_of(running: Running, scope: str, http: Any) -> None:
    answer = http.post("/sign-in", data={"token": running.tokens[scope], "next": "/"})
    assert answer.status_code == 303
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=lax" in answer.headers["set-cookie"].lower()


def triage_address(reported: Any) -> str:
    return f"/regressions/{reported.get('/reports')['items'][0]['report']}/triage"


def form_token(http: Any) -> str:
    return str(http.get("/regressions").text.split('name="form_token" value="')[1].split('"')[0])


def test_a_form_needs_a_session_its_token_and_this_site(reported: Any) -> None:
    address = triage_address(reported)
    form = {"state": "noise", "owner": "", "note": ""}
    with reported.http(None) as http:
        assert http.post(address, data=form).status_code == 401
        cookie_of(reported, "triage", http)
        assert http.post(address, data=form).status_code == 403
        assert http.post(address, data={**form, "form_token": "made up"}).status_code == 403
        good = {**form, "form_token": form_token(http)}
        assert (
            http.post(address, data=good, headers={"Origin": "https://elsewhere.example"}).status_code == 403
        )
        assert http.post(address, json=good).status_code == 415
        assert http.post(address, data={**good, "state": "fine"}).status_code == 422
        assert http.post(address, data={**good, "note": "x" * 4001}).status_code == 422
        assert (
            http.post(
                address,
                content=b"state=%00&form_token=" + good["form_token"].encode(),
                headers={"Content-Type": "application/x-www-form-urlencoded"},
            ).status_code
            == 422
        )
        assert http.get("/regressions?state=noise").text.count("<article") == 0
        assert http.post(address, data=good, headers={"Origin": reported.url}).status_code == 303
        assert http.get("/regressions?state=noise").text.count("<article") == 1


def test_a_token_without_the_scope_may_not_write(reported: Any) -> None:
    with reported.http(None) as http:
        cookie_of(reported, "read", http)
        home = http.get("/").text
        token = home.split('name="form_token" value="')[1].split('"')[0]
        answer = http.post(triage_address(reported), data={"state": "noise", "form_token": token})
        assert answer.status_code == 403
        assert "lacks the scope" in answer.text


def test_a_session_ends_with_its_token_with_its_time_and_with_a_forgery(reported: Any) -> None:
    with reported.http(None) as http:
        cookie_of(reported, "triage", http)
        assert "Sign out" in http.get("/").text
        cookie = http.cookies["cliffwatch_session"]
        http.cookies.clear()
        assert "Sign out" not in http.get("/", headers={"Cookie": f"cliffwatch_session={cookie[:-2]}xx"}).text
        cookie_of(reported, "triage", http)
        reported.clock.moment += timedelta(days=15)
        assert "Sign out" not in http.get("/").text
        http.cookies.clear()
        cookie_of(reported, "triage", http)
        with reported.service.transaction() as connection:
            connection.execute("UPDATE token SET revoked = now() WHERE name = 'triage'")
        assert "Sign out" not in http.get("/").text


def test_a_wrong_token_is_refused_on_the_page_and_makes_no_session(running: Running) -> None:
    with running.http(None) as http:
        answer = http.post("/sign-in", data={"token": "cliffwatch_nothing"})
        assert answer.status_code == 401
        assert "this token is not known" in answer.text
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "address",
    ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "javascript:alert(1)"],
)
def test_signing_in_never_leads_to_another_site(address: str, running: Running) -> None:
    with running.http(None) as http:
        answer = http.post("/sign-in", data={"token": running.tokens["read"], "next": address})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert "elsewhere" not in http.get("/sign-in", params={"next": address}).text.split("<main")[1]
