"""What a maintainer does in the morning: look, search, triage several reports, ask for a measurement,
subscribe; without JavaScript.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service_running import Clock, Running, serving
from service_runs import commit_of, run_of

from cliffwatch_service.runtime.settings import Settings

TREE = "https://git.example.org/bpf-next.git"


@pytest.fixture
def morning(database: str, tmp_path: Path) -> Iterator[Running]:
    """Two regressions of last night, and a host that can be asked."""
    settings = Settings(
        data_dir=tmp_path,
        requests_per_minute=100_000,
        news_mail=("@lists.example.org",),
        news_webhooks=("https://hooks.example.org/x",),
    )
    with serving(database, settings, Clock()) as running:
        running.follow(TREE, "master", [commit_of(f"r{index}") for index in range(4)])
        for index in range(2):
            shifted = run_of(boots=8, cases=1, base=f"r{index}", head=f"r{index + 1}", shift=0.1, seed=index)
            running.measure(shifted)
        running.do_tasks()
        yield running


def signed_in(watched: Any, running: Running, who: str, *, script: bool = False) -> Any:
    page = watched.window(running, script=script)
    page.goto("/sign-in")
    page.fill("input[name=token]", running.tokens[who])
    page.locator("main button").first.click()
    return page


def test_the_morning_says_what_came_since_yesterday(watched: Any, morning: Running) -> None:
    page = watched.window(morning, script=False)
    page.goto("/")
    assert "2 new regressions, 0 fixed and verified" in page.locator("main").inner_text()
    morning.clock.pass_(days=2)
    page.goto("/")
    assert "0 new regressions" in page.locator("main").inner_text()
    page.goto("/runs")
    assert page.get_by_role("link", name="▲ 1 worse").count() == 2


def test_several_reports_are_triaged_by_one_form(watched: Any, morning: Running) -> None:
    page = signed_in(watched, morning, "triage")
    page.goto("/regressions")
    for box in page.locator("article.report h2 input[type=checkbox]").all():
        box.check()
    page.locator("#bulk select").select_option("acknowledged")
    page.locator("#bulk input[name=note]").fill("both are real")
    page.locator("#bulk input[name=assign]").check()
    page.get_by_role("button", name="Triage the selected").click()
    rows = morning.rows("SELECT state, owner FROM regression_report")
    assert rows == [{"state": "acknowledged", "owner": "triage"}] * 2
    assert "precision" in page.locator("main").inner_text()
    assert "100 % of 2 judged reports real" in page.locator("main").inner_text()


def test_a_form_without_a_selected_report_changes_nothing(watched: Any, morning: Running) -> None:
    page = signed_in(watched, morning, "triage")
    page.goto("/regressions")
    page.get_by_role("button", name="Triage the selected").click()
    assert "Nothing selected" in page.locator("h1").inner_text()
    watched.complaints = [each for each in watched.complaints if "Failed to load resource" not in each]


def test_a_report_is_assigned_to_me_and_names_its_fix(watched: Any, morning: Running) -> None:
    page = signed_in(watched, morning, "triage")
    page.goto("/regressions")
    page.locator("article.report h2 a").first.click()
    page.get_by_role("button", name="Assign to me").click()
    assert "triage" in page.locator("dl.facts-list").inner_text()
    page.locator("select[name=state]").select_option("fixed")
    page.locator("input[name=fix]").fill(commit_of("r3")[:12])
    page.get_by_role("button", name="Save").click()
    fixed = page.locator("dl.facts-list").get_by_role("link", name=commit_of("r3")[:12])
    assert fixed.get_attribute("href") == f"/revisions/{commit_of('r3')}"
    assert "said by triage" in page.locator("dl.facts-list").inner_text()
    assert "closed" in page.locator("main").inner_text()


def test_an_unmeasured_revision_is_asked_for_from_its_404(watched: Any, morning: Running) -> None:
    head = "9" * 40
    page = signed_in(watched, morning, "upload")
    page.goto(f"/revisions/{head}")
    watched.complaints = [each for each in watched.complaints if "Failed to load resource" not in each]
    page.get_by_role("link", name="Ask for a measurement of 999999999999").click()
    assert page.locator("input[name=head]").input_value() == head
    assert page.locator("input[name=tree]").input_value() == TREE
    page.fill("input[name=base]", commit_of("r3")[:12])
    page.locator("fieldset input").first.check()
    page.locator("select[name=suite]").select_option("local-storage")
    page.get_by_role("button", name="Ask").click()
    assert "/requests/" in page.url
    (asked,) = morning.rows(
        "SELECT base_commit, head_commit, suites FROM request WHERE note LIKE 'asked from%'"
    )
    assert asked == {"base_commit": commit_of("r3"), "head_commit": head, "suites": ["local-storage"]}


def test_a_patch_is_pasted(watched: Any, morning: Running) -> None:
    offer(morning)
    page = signed_in(watched, morning, "upload")
    page.goto(f"/measure?base={commit_of('r3')}")
    page.fill("textarea", "--- a/kernel/bpf/core.c\n+++ b/kernel/bpf/core.c\n@@ -1 +1 @@\n-int a;\n+int b;\n")
    page.locator("fieldset input").first.check()
    page.locator("select[name=suite]").select_option("local-storage")
    page.get_by_role("button", name="Ask").click()
    assert "/requests/" in page.url, page.locator("main").inner_text()
    (file,) = morning.rows("SELECT name, content FROM request_file")
    assert file["name"] == "pasted.patch"
    assert bytes(file["content"]).count(b"\r") == 0


def offer(morning: Running) -> None:
    able = {
        "host": "rome-1",
        "platform": "amd-rome",
        "modes": ["walltime"],
        "isolation": "bubblewrap",
        "setups": True,
    }
    with morning.http("of rome-1") as http:
        http.post("/api/v1/offers", json=able).raise_for_status()


@pytest.mark.parametrize(
    ("field", "value", "setup"),
    [("layouts", "4", {"layouts": 4}), ("time", "20m", {"seconds": 1200.0})],
)
def test_layouts_and_a_time_are_asked_for(
    watched: Any, morning: Running, field: str, value: str, setup: object
) -> None:
    offer(morning)
    page = signed_in(watched, morning, "upload")
    page.goto(f"/measure?base={commit_of('r2')}&head={commit_of('r3')}&suite=local-storage")
    page.locator("fieldset input").first.check()
    page.fill(f"input[name={field}]", value)
    page.get_by_role("button", name="Ask").click()
    assert "/requests/" in page.url, page.locator("main").inner_text()
    (asked,) = morning.rows("SELECT setup FROM request WHERE note LIKE 'asked from%'")
    assert asked["setup"] == setup


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"layouts": "500"}, "give a number from 1 to 100"),
        ({"time": "20"}, "give one such as 20m"),
        ({"layouts": "9", "boots": "3"}, "9 layouts cannot share 3 boots"),
        ({"layouts": "9", "time": "20m"}, "a time chooses the layouts itself"),
    ],
)
def test_layouts_and_a_time_that_do_not_go_together_are_refused(
    watched: Any, morning: Running, fields: dict[str, str], said: str
) -> None:
    offer(morning)
    page = signed_in(watched, morning, "upload")
    page.goto(f"/measure?base={commit_of('r2')}&head={commit_of('r3')}&suite=local-storage")
    page.locator("fieldset input").first.check()
    for name, value in fields.items():
        page.fill(f"input[name={name}]", value)
    with page.expect_console_message():  # the browser's own, about the 422
        page.get_by_role("button", name="Ask").click()
    watched.complaints = [each for each in watched.complaints if "Failed to load resource" not in each]
    assert said in page.locator("main").inner_text()
    assert morning.rows("SELECT FROM request WHERE note LIKE 'asked from%'") == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (commit_of("r1")[:9], "/revisions/"),
        ("bpf r1", "/revisions/"),
        ("mast", "/revisions/"),
        ("local-storage-cache-seq-get amd-rome", "/series/"),
    ],
)
def test_the_head_of_every_page_searches(watched: Any, morning: Running, words: str, found: str) -> None:
    page = watched.window(morning, script=False)
    page.goto("/hosts")
    page.locator("header input[name=q]").fill(words)
    page.locator("header input[name=q]").press("Enter")
    assert found in page.url, "what alone has that name is opened at once"
    assert page.locator("main h1").inner_text()


@pytest.mark.parametrize("words", ["'; DROP TABLE run; --", "a & !b | (c", "%", "\\", "<b>x</b>", "é", "*:*"])
def test_whatever_is_searched_is_answered(watched: Any, morning: Running, words: str) -> None:
    page = watched.window(morning)
    page.goto("/search")
    page.locator("main input[name=q]").fill(words)
    page.get_by_role("button", name="Search").click()
    assert page.locator("main input[name=q]").input_value() == words
    assert page.locator("h1").inner_text() == "Search"


def test_somebody_subscribes_mutes_and_ends_it(watched: Any, morning: Running) -> None:
    page = signed_in(watched, morning, "triage")
    page.goto("/subscriptions")
    assert "no subscription yet: choose below" in page.locator("main").inner_text()
    page.fill("input[name=address]", "bpf@lists.example.org")
    page.fill("input[name=suites]", "local-storage, string-maps")
    page.get_by_role("button", name="Subscribe").click()
    row = page.locator("table.list tbody tr")
    assert "bpf@lists.example.org" in row.inner_text()
    assert "suites local-storage, string-maps" in row.inner_text()
    row.get_by_role("button", name="Mute").click()
    assert "until" in page.locator("table.list tbody tr").inner_text()
    page.locator("table.list tbody tr").get_by_role("button", name="End").click()
    assert page.locator("table.list tbody tr").count() == 0
    page.locator("select[name=channel]").select_option("webhook")
    page.fill("input[name=address]", "https://hooks.example.org/x/1")
    page.get_by_role("button", name="Subscribe").click()
    assert len(page.locator(".alarms code").inner_text()) > 30
    page.goto("/subscriptions")
    assert page.locator(".alarms code").count() == 0


def test_another_sites_form_writes_nothing(morning: Running) -> None:
    with morning.http(None) as http:
        http.post("/sign-in", data={"token": morning.tokens["admin"]})
        for path in (
            "/subscriptions",
            "/measure",
            "/regressions/triage",
            "/subscriptions/1/mute",
            "/subscriptions/1/end",
        ):
            assert http.post(path, data={"channel": "mail"}).status_code == 403, path
            elsewhere = http.post(path, data={"channel": "mail"}, headers={"Origin": "https://evil.example"})
            assert elsewhere.status_code == 403, path


def test_a_cell_that_did_not_run_leads_to_the_form(watched: Any, morning: Running) -> None:
    more = run_of(boots=8, cases=2, base="r0", head="r1", platform="intel-skylake", host="skylake-1", seed=7)
    morning.measure(more)
    morning.do_tasks()
    page = watched.window(morning, script=False)
    page.goto(f"/compare/{commit_of('r0')}...{commit_of('r1')}")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.get_by_role("link", name="not run").first.click()
    assert page.locator("input[name=base]").input_value() == commit_of("r0")
    assert page.locator("input[name=head]").input_value() == commit_of("r1")
    ticked = page.locator("fieldset input:checked")
    assert [each.get_attribute("name") for each in ticked.all()] == ["target:amd-rome:walltime"]
    assert page.locator("select[name=suite]").input_value() == "local-storage"
