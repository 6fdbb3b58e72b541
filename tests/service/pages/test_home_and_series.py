"""What a maintainer sees in the morning, and the history behind it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from pages_named import address
from playwright.sync_api import expect
from service_running import Running
from service_runs import boots_of, commit_of, put_all, record_of, run_of


def test_branches_are_strips_of_verdicts_oldest_left(opened: Any) -> None:
    page = opened("/")
    branch = page.locator("article.branch", has_text="measured")
    strip = branch.locator(".strip", has_text="emulated-x86-64")
    signs = [each.strip() for each in strip.locator(".cell > span[aria-hidden]").all_inner_texts()]
    assert signs == ["·", "▲", "▲", "▼", "✕", "·"]
    assert "oldest left" in str(strip.locator("ol").get_attribute("aria-label"))
    strip.locator(".cell", has_text="Take the local storage lookup out of line").click()
    page.wait_for_url("**/compare/21d6391a3033...e975db19874b")


def test_the_first_regression_is_a_few_keys_away(opened: Any) -> None:
    page = opened("/")
    first = page.locator(".reports a").first.inner_text()
    focused = "document.activeElement.textContent.trim()"
    reached = []
    for _ in range(15):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(focused))
    assert first in reached, "behind the site's own links and a heading"
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("j")
    assert page.evaluate(focused) == first
    page.keyboard.press("j")
    assert page.evaluate(focused) == page.locator(".reports a").nth(1).inner_text()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/regressions/*")


def test_what_is_open_runs_and_is_offline_is_on_the_home_page(opened: Any) -> None:
    page = opened("/")
    text = page.locator("main").inner_text()
    assert page.locator("a[href='/runs']", has_text="more").inner_text() == "89 more"
    assert "amd-rome (walltime): 2 jobs wait and no host of this platform is online" in text
    assert (
        "bpf: Check the owner of a local storage element\n▲ 16 slower (up to 5.7 % more time) on amd-rome,"
        " intel-skylake" in text
    )
    assert "330edbeb32f7 … a88952a2bc36 on emulator-1" in text
    assert "skylake-1 intel-skylake, last seen 7 h ago" in text


def test_an_empty_service_says_how_to_begin(running: Running, watched: Any) -> None:
    page = watched.window(running)
    for path, words in {
        "/": "cliffwatch demo-data",
        "/compare": "Nothing was measured yet",
        "/runs": "cliffwatch run --upload",
        "/series": "one begins with its first sample",
        "/regressions": "No report is in this state",
        "/queue": "Nothing waits and nothing runs",
        "/jobs": "No job is in this state",
        "/branches": "cliffwatch follow",
        "/measure": "cliffwatch worker",
        "/hosts": "cliffwatch worker --url",
    }.items():
        page.goto(path)
        assert words in page.locator("main").inner_text()
        for empty in page.locator("main .empty").all():
            assert empty.locator("a, code").count(), f"{path}: no first step in {empty.inner_text()!r}"
        assert "`" not in page.locator("main").inner_text()


def test_a_platform_of_a_followed_branch_that_measures_nothing_is_an_alarm(running: Running) -> None:
    with running.http("admin") as http:
        put_all(http, run_of(boots=2, cases=2))
        running.make_history()
        follow = {
            "tree": "https://git.example.org/bpf-next.git",
            "branch": "master",
            "policy": "commit",
            "targets": [{"platform": "amd-rome", "mode": "walltime"}],
            "suites": ["local-storage"],
        }
        http.post("/api/v1/follows", json=follow).raise_for_status()
        offer = {
            "host": "rome-2",
            "platform": "amd-rome",
            "modes": ["walltime"],
            "isolation": "bubblewrap",
            "about": {"modes": ["walltime"]},
        }
        http.post("/api/v1/offers", json=offer).raise_for_status()
        assert "nothing was measured for" not in http.get("/hosts").text
        running.clock.moment += timedelta(days=3)
        assert "amd-rome (walltime): nothing was measured for 3 days" in http.get("/hosts").text
        hosts = http.get("/hosts").text
        assert hosts.count("<strong>offline</strong>") == 1, "rome-1 only uploads: nobody waits for it"


def test_history_is_drawn_with_its_band_changes_epochs_and_releases(opened: Any, demonstration: Any) -> None:
    page = opened(address(demonstration, "series"), script=False)
    drawing = page.locator("#history svg")
    assert drawing.locator(".line").count() == 2, "a line for each epoch"
    assert drawing.locator(".band").count() == 2
    assert drawing.locator(".change.regression").count() == 1
    assert drawing.locator(".change.improvement").count() == 1
    assert drawing.locator("circle.own").count() == 1
    text = page.locator("main").inner_text()
    assert "1 commit after 24017aba1960 of this branch" in text
    assert drawing.locator("path.own").count() == 1
    assert drawing.locator(".release").count() == 2
    assert drawing.locator(".reference").count() == 2
    assert "published 2024, before inlining the lookup: 30.748 ns/op, on a machine that was not named" in text
    assert "Skylake" not in text, "this is Rome's history"
    assert "bpf: Check the owner of a local storage element" in text


def test_history_zooms_and_comes_back(opened: Any, demonstration: Any) -> None:
    page = opened(address(demonstration, "series"))
    over = page.locator(".u-over")
    expect(over).to_be_visible()
    box = over.bounding_box()

    def leftmost() -> str:
        """The revision that the legend names at the picture's left edge."""
        page.mouse.move(box["x"] + 60, box["y"] + 60)
        page.mouse.move(box["x"] + 2, box["y"] + 60)
        return page.locator(".u-legend .u-value").first.inner_text()

    first = leftmost()
    page.mouse.move(box["x"] + 400, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 60, steps=5)
    page.mouse.up()
    assert leftmost() != first
    page.get_by_role("button", name="Whole range").click()
    assert leftmost() == first


def test_history_is_relative_on_demand_and_its_range_is_in_the_address(
    opened: Any, demonstration: Any
) -> None:
    page = opened(address(demonstration, "series"), script=False)
    page.get_by_role("link", name="relative").click()
    page.wait_for_url("**scale=relative**")
    lowest = page.locator("#history svg text").first.text_content()
    assert -8 < float(lowest) < -4, "percent of the first point"
    page.get_by_role("link", name="50", exact=True).click()
    page.wait_for_url("**last=50**")


def test_series_are_found_by_a_part_of_their_name(opened: Any) -> None:
    page = opened("/series", script=False)
    page.get_by_label("Search").fill("cache-int-get/nr_maps=17 hits-latency")
    page.get_by_role("button", name="Show").click()
    assert page.locator("table tbody tr").count() == 3
    assert page.locator("table tbody td[data-label=platform]").all_inner_texts() == [
        "amd-rome walltime",
        "intel-skylake walltime",
        "published walltime",
    ]
    page.get_by_label("Platform").select_option("intel-skylake")
    page.get_by_role("button", name="Show").click()
    assert page.locator("table tbody tr").count() == 1


@pytest.mark.parametrize(
    "text",
    [
        "local-storage-cache-seq-get nr_maps=1 on amd-rome",
        "local-storage, hits-latency in ns/op, on amd-rome, walltime seq-get nr_maps=1",
        "AMD-ROME nr_maps=1 seq-get",
    ],
)
def test_series_are_found_by_their_title_and_parameters_stand_as_people_count(
    text: str, demonstration: Any
) -> None:
    with demonstration.http(None) as http:
        page = http.get("/series", params={"text": text, "platform": "amd-rome"}).text
    numbers = re.findall(r'<span class="params">nr_maps=(\d+)</span>', page)
    assert numbers == ["1", "10", "16", "17", "100", "1000"]


def test_a_point_leads_to_its_revision_and_is_dated(opened: Any, demonstration: Any) -> None:
    page = opened(address(demonstration, "series"), script=False)
    link = page.locator("#history svg a").first
    assert re.match(r"[0-9a-f]{12} of 2026-11-\d\d: [\d.]+ ns/op, n 8", str(link.get_attribute("aria-label")))
    assert "2026-11-" in page.locator("#history svg").text_content()
    commit = str(link.get_attribute("href"))
    page.get_by_text("revisions, newest first").click()
    oldest = page.locator("table tbody tr", has=page.locator(f"a[href='{commit}']")).last
    assert "2026-11-" in oldest.inner_text()
    assert oldest.locator("a[href^='/runs/']").count() == 1
    link.click()
    page.wait_for_url(f"**{commit}")


def test_a_click_on_the_zoomable_history_leads_to_the_revision_below_it(
    opened: Any, demonstration: Any
) -> None:
    page = opened(address(demonstration, "series"))
    over = page.locator(".u-over")
    expect(over).to_be_visible()
    box = over.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.move(box["x"] + 2, box["y"] + 60)
    legend = page.locator(".u-legend .u-value").first.inner_text()
    commit, date = legend.split(", ")
    assert date.startswith("2026-11-")
    page.mouse.click(box["x"] + 2, box["y"] + 60)
    page.wait_for_url(f"**/revisions/{commit}")


def test_a_boots_page_leads_to_the_kernels_log_at_once(opened: Any, demonstration: Any) -> None:
    page = opened(address(demonstration, "boot"), script=False)
    first = page.locator("table.list tbody tr").first.inner_text()
    assert "dmesg" in first
    assert page.locator("main a", has_text="dmesg").first.bounding_box()["y"] < 300
    outputs = page.locator("table.list tbody tr", has_text="local-storage-cache-seq-get nr_maps=16")
    assert outputs.filter(has_text=".out").count() == 1
    assert page.locator(".failure").nth(1).inner_text().count("While it ran hashmap-with-bloom") == 1


def test_a_run_under_way_shows_what_is_here_and_what_is_outstanding(running: Running, watched: Any) -> None:
    run = run_of(boots=3, cases=2)
    run.record["host_faults"] = ["smt: on"]
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, "running")).raise_for_status()
        number, body = next(boots_of(run))
        http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
    page = watched.window(running)
    page.goto(f"/runs/{run.digest}")
    text = page.locator("main").inner_text()
    assert "1 of 6" in text
    assert "5 outstanding" in text
    assert "no bench host (smt: on)" in page.locator(".warning").inner_text()
    assert f"/revisions/{commit_of('head')}" in page.content()


def test_a_dmesg_has_its_splats_marked_and_linked(opened: Any, demonstration: Any) -> None:
    page = opened(address(demonstration, "output"))
    assert page.locator("mark.first").count() == 3
    assert "BUG: kernel NULL pointer dereference" in page.locator("mark.first").first.inner_text()
    page.locator(".tools a", has_text="BUG").nth(1).click()
    expect(page.locator("#splat2")).to_be_in_viewport()
    page.get_by_role("link", name="Plain text").click()
    assert page.evaluate("document.contentType") == "text/plain"


def test_a_suite_says_what_each_case_measures_and_where_it_comes_from(opened: Any) -> None:
    text = opened("/suites/local-storage").locator("main").inner_text()
    assert "Gets the storage of each map in turn" in text
    assert "bench local-storage-cache-seq-get" in text
    assert "hits-latency (ns/op, lower is better, decides)" in text


def test_long_lists_go_on(opened: Any) -> None:
    page = opened("/series", script=False)
    first = page.locator("table tbody tr a.row").first.get_attribute("href")
    assert page.locator("table tbody tr").count() == 100
    page.get_by_role("link", name="More").click()
    page.wait_for_url("**cursor=**")
    assert first not in page.content()
    assert page.locator("table tbody tr").count() > 10
