"""What a maintainer sees in the morning, and the history behind it."""

from datetime import timedelta
from typing import Any

from pages_named import address
from playwright.sync_api import expect
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
    for _ in range(14):
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


def test_what_is_open_runs_and_is_silent_is_on_the_home_page(opened: Any) -> None:
    text = opened("/").locator("main").inner_text()
    assert "amd-rome (walltime): 2 jobs wait and no host of this platform works" in text
    assert "bpf: Check the owner of a local storage element\n▲ 15 worse by up to 5.74 % on amd-rome" in text
    assert "330edbeb32f7 … a88952a2bc36 on emulator-1" in text
    assert "skylake-1 intel-skylake, last heard of 7 h ago" in text


def test_an_empty_service_says_how_to_begin(running: Any, watched: Any) -> None:
    page = watched.window(running)
    for path, words in {
        "/": "cliffwatch demo-data",
        "/compare": "Nothing was measured yet",
        "/runs": "cliffwatch run --upload",
        "/series": "a series begins with its first sample",
        "/regressions": "No report is in this state",
        "/queue": "Nothing waits and nothing runs",
        "/hosts": "cliffwatch worker --url",
    }.items():
        page.goto(path)
        assert words in page.locator("main").inner_text()


def test_a_platform_of_a_followed_branch_that_measures_nothing_is_an_alarm(running: Any) -> None:
    with running.http("admin") as http:
        put_all(http, run_of(boots=2, cases=2))
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
        assert hosts.count("<strong>silent</strong>") == 1, "rome-1 only uploads: nobody waits for it"


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


def test_history_is_relative_on_demand_and_its_range_is_in_the_address(opened: Any, demonstration: Any) -> None:
    page = opened(address(demonstration, "series"), script=False)
    page.get_by_role("link", name="relative").click()
    page.wait_for_url("**scale=relative**")
    lowest = page.locator("#history svg text").first.text_content()
    assert -8 < float(lowest) < -4, "percent of the first point"
    page.get_by_role("link", name="50", exact=True).click()
    page.wait_for_url("**last=50**")


def test_series_are_found_by_a_part_of_their_name(opened: Any) -> None:
    page = opened("/series", script=False)
    page.get_by_label("Search").fill("int-get/nr_maps=17 hits-latency")
    page.get_by_role("button", name="Show").click()
    assert page.locator("table tbody tr").count() == 4
    assert page.locator("table tbody tr td:last-child").all_inner_texts() == [
        "amd-rome walltime",
        "emulated-x86-64 icount",
        "intel-skylake walltime",
        "published walltime",
    ]
    page.get_by_label("Platform").select_option("intel-skylake")
    page.get_by_role("button", name="Show").click()
    assert page.locator("table tbody tr").count() == 1


def test_a_run_under_way_shows_what_is_here_and_what_is_outstanding(running: Any, watched: Any) -> None:
    run = run_of(boots=3, cases=2)
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, "running")).raise_for_status()
        number, body = next(boots_of(run))
        http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
    page = watched.window(running)
    page.goto(f"/runs/{run.digest}")
    text = page.locator("main").inner_text()
    assert "1 of 6" in text
    assert "5 outstanding" in text
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
