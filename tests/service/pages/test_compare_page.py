"""The compare page: what it says, how it is filtered and walked through, and what else its
address answers.
"""

from typing import Any

import pytest
from pages_named import CASE, COMPARISON
from playwright.sync_api import expect
from service_running import Running
from service_runs import commit_of, put_all, run_of

ADDRESS = f"/compare/{COMPARISON}"
NOTHING_CHANGED = "/compare/01831496fe70...36a4b32e192e"


def names(page: Any, section: str) -> list[str]:
    return [each.strip() for each in page.locator(f"#{section} tbody th a").all_inner_texts()]


def test_the_sentence_on_top_counts_and_tells_the_platforms_apart(opened: Any) -> None:
    page = opened(ADDRESS)
    sentence = page.locator("h1").inner_text()
    assert sentence.startswith("15 slower (")
    assert "On emulated-x86-64 icount only: 7 slower." in page.locator("p.facet").inner_text()
    assert "Base is head's parent." in page.locator(".facts").inner_text()


def test_hardware_is_in_columns_and_each_row_says_where_it_holds(opened: Any) -> None:
    page = opened(ADDRESS)
    row = page.locator("#changed tr", has_text="nr_maps=16").filter(has_text="seq-get").first
    cells = row.locator("td")
    assert cells.count() == 3
    assert row.locator("em").inner_text() == "all 3"
    emulated = cells.nth(1).inner_text()
    assert "▲ +4.86 %" in emulated
    assert "185.763 → 194.789; +4.84 .. +4.88 %; n 2" in emulated
    assert (
        page.locator("#changed tr", has_text="int-get nr_maps=1").first.locator("em").inner_text()
        == "emulated-x86-64 icount only"
    )


def test_what_is_within_the_noise_has_no_colour(opened: Any) -> None:
    page = opened(ADDRESS)
    quiet = page.locator("#unchanged td.same b").first
    changed = page.locator("#changed td.worse b").first
    colour = "element => getComputedStyle(element).color"
    assert quiet.evaluate(colour) == page.locator(".quiet").first.evaluate(colour)
    assert changed.evaluate(colour) != quiet.evaluate(colour)
    assert page.locator("#unchanged td.worse, #unchanged td.better").count() == 0


def test_every_target_states_its_mode_and_what_was_detectable(opened: Any) -> None:
    page = opened(ADDRESS)
    assert (
        "caches, branch prediction, memory and contention are not measured"
        in page.locator("main").inner_text()
    )
    assert "changes below the noise of host and boots cannot be seen" in page.locator("main").inner_text()
    text = page.locator("table.targets").inner_text()
    assert "smallest change this could see" in text
    assert "median 1.24 %, largest 1.95 %" in text
    assert "0 of 20 false positives, largest difference" in text


@pytest.mark.parametrize("pair", [ADDRESS, NOTHING_CHANGED])
@pytest.mark.parametrize(("width", "height", "above"), [(1280, 960, 500), (390, 844, 700)])
def test_the_first_row_is_seen_without_scrolling(
    opened: Any, width: int, height: int, above: int, pair: str
) -> None:
    page = opened(pair)
    page.set_viewport_size({"width": width, "height": height})
    assert not page.locator("h1").inner_text()[0].islower()
    assert page.locator("table.rows tbody tr").first.bounding_box()["y"] < above


def test_the_answer_names_the_largest_change_and_the_functions_behind_it(opened: Any) -> None:
    assert opened(ADDRESS).locator("p.facet").inner_text() == (
        "All of local-storage: bpf_local_storage_lookup no longer inlined into __bpf_task_storage_get."
        " On emulated-x86-64 icount only: 7 slower."
        " Largest: +5.49 %, local-storage-cache-int-get nr_maps=1 on emulated-x86-64 icount. Functions"
    )


def test_all_changes_are_one_picture(opened: Any) -> None:
    strips = opened(ADDRESS).locator("figure.changes svg")
    assert strips.count() == 3
    assert strips.nth(1).get_attribute("aria-label") == "emulated-x86-64 icount: 14 worse, 27 not reported"


def test_a_kernel_that_does_not_build_is_one_sentence(opened: Any) -> None:
    page = opened("/compare/325d59a8d264...fe4c663abdcf")
    sentence = page.locator("h1").inner_text()
    assert sentence.startswith("Nothing was compared: head: it does not build: ")
    assert "error: expected ';' before 'len'" in sentence
    assert not page.locator("table.rows").first.is_visible()
    page.get_by_text("14 cases without a value").click()
    assert page.locator("table.rows").first.is_visible()


def test_a_sweep_is_a_curve_and_its_cliff_is_named(opened: Any) -> None:
    sweep = opened(ADDRESS).locator("article.sweep", has_text="seq-get over nr_maps")
    assert sweep.locator("svg.curve").count() == 3
    assert sweep.locator("svg.curve .breakpoint").count() >= 3
    assert "climbs from nr_maps 16 on" in sweep.inner_text()
    assert "8 of 8 changed" in sweep.inner_text()


def test_filters_are_in_the_address_and_take_effect_as_they_are_chosen(opened: Any) -> None:
    page = opened(ADDRESS)
    page.get_by_text("Filter and sort").click()
    page.get_by_label("Verdict").select_option("unchanged")
    page.wait_for_url("**verdict=unchanged**")
    assert page.locator("#changed").count() == 0
    page.get_by_label("Search").fill("bloom lookup")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=bloom+lookup**")
    assert len(names(page, "unchanged")) == 3
    page.get_by_role("link", name="Reset").click()
    page.wait_for_url(f"**{ADDRESS}")


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("where=emulated-x86-64+icount+only", 7),
        ("platform=amd-rome", 20),
        ("mode=icount&verdict=changed", 14),
        ("suite=bloom", 7),
        ("verdict=unchanged", 26),
    ],
)
def test_filters_work_without_javascript(query: str, rows: int, opened: Any) -> None:
    page = opened(f"{ADDRESS}?{query}", script=False)
    assert f"{rows} of " in page.locator("details.narrow summary").inner_text()
    assert page.locator("#filters").is_visible()


def test_rows_are_sorted_by_size_certainty_or_name(opened: Any) -> None:
    by_size = names(opened(ADDRESS), "changed")
    by_certainty = names(opened(f"{ADDRESS}?sort=certainty"), "changed")
    by_name = names(opened(f"{ADDRESS}?sort=name"), "changed")
    assert by_size[0] == "local-storage-cache-int-get nr_maps=1"
    assert sorted(by_size) == sorted(by_certainty) == sorted(by_name)
    assert by_size != by_certainty
    assert [name.split()[0] for name in by_name] == sorted(name.split()[0] for name in by_name)


def test_rows_are_walked_with_j_and_k_and_unfolded_with_enter(opened: Any) -> None:
    page = opened(ADDRESS)
    focused = "document.activeElement.textContent.trim()"
    first, second = names(page, "changed")[:2]
    page.keyboard.press("j")
    assert page.evaluate(focused) == first
    page.keyboard.press("j")
    assert page.evaluate(focused) == second
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    unfolded = page.locator("tr.unfolded")
    expect(unfolded).to_contain_text("verdict")
    expect(unfolded.locator("svg.strips").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(unfolded).to_have_count(0)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"


def test_n_and_p_walk_through_the_branch_and_a_question_mark_lists_the_keys(opened: Any) -> None:
    page = opened(ADDRESS)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("p")
    page.wait_for_url("**/compare/nearest...21d6391a3033")
    assert "nearest measured ancestor, 1 commit before head" in page.locator(".facts").inner_text()
    page.keyboard.press("n")
    page.wait_for_url("**/compare/nearest...e975db19874b")


def test_filters_stay_while_n_and_p_walk_through_the_branch(opened: Any) -> None:
    page = opened(f"{ADDRESS}?verdict=changed&text=seq-get&platform=emulated-x86-64")
    page.keyboard.press("p")
    page.wait_for_url(
        "**/compare/nearest...21d6391a3033?text=seq-get&verdict=changed&platform=emulated-x86-64"
    )
    page.keyboard.press("n")
    page.wait_for_url(
        "**/compare/nearest...e975db19874b?text=seq-get&verdict=changed&platform=emulated-x86-64"
    )
    assert page.get_by_label("Verdict").input_value() == "changed"


def test_rows_that_nothing_else_orders_stand_as_people_count(opened: Any) -> None:
    page = opened(f"{ADDRESS}?sort=name&text=seq-get")
    values = [int(name.split("nr_maps=")[1]) for name in names(page, "changed")]
    assert values == sorted(values)
    assert len(values) == 8
    control = names(opened(ADDRESS), "unchanged")[:20]
    numbers = [int(name.split("used=")[1]) for name in control if "cache-hashmap-control" in name]
    assert numbers == sorted(numbers)


def test_a_sweep_shows_head_against_base_and_each_point_leads_to_its_row(opened: Any) -> None:
    page = opened(ADDRESS)
    drawing = page.locator("svg.curve").first
    inside = """svg => { const box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].every((text) => { const own = text.getBoundingClientRect();
            return own.left >= box.left - 1 && own.right <= box.right + 1; }) }"""
    assert drawing.evaluate(inside), "a label is cut"
    assert drawing.locator(".line.head").count() == 2
    assert "head against base" in drawing.text_content()
    point = drawing.locator("a").first
    assert "→" in str(point.get_attribute("aria-label"))
    point.locator("circle").click()
    page.wait_for_url("**/cases/local-storage/local-storage-cache-**")


def test_the_keyboard_alone_reaches_a_row_and_its_raw_output(opened: Any) -> None:
    page = opened(ADDRESS)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.keyboard.press("/")
    page.keyboard.type("seq-get nr_maps=16")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=**")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    raw = page.locator("tr.unfolded summary", has_text="Raw output")
    raw.focus()
    page.keyboard.press("Enter")
    link = page.locator("tr.unfolded .raws a").first
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/files/**")
    assert "local-storage" in page.locator("pre.output").inner_text()


def test_a_row_shows_every_sample_its_raw_output_its_history_and_the_command_that_repeats_it(
    opened: Any,
) -> None:
    page = opened(f"{ADDRESS}/cases/{CASE}", script=False)
    emulated = page.locator("section", has_text="emulated-x86-64 icount")
    assert emulated.locator("svg.strips circle").count() == 4
    assert "185.763 insns/op, 2 boots" in emulated.inner_text()
    command = emulated.locator("code", has_text="cliffwatch run").inner_text()
    assert command.startswith(
        "cliffwatch run --tree https://git.example.org/demonstration.git --base 21d6391a3033"
    )
    assert command.endswith("--suite local-storage --profile standard --mode icount --boots 2 --seed 1")
    emulated.get_by_text("Raw output of 4 boots").click()
    emulated.locator(".raws a").first.click()
    assert "Summary: hits throughput" in page.locator("pre.output").inner_text()
    page.go_back()
    emulated.get_by_role("link", name="History").click()
    assert "local-storage-cache-seq-get" in page.locator("h1").inner_text()


def test_the_commit_message_is_copied_as_it_is_answered(opened: Any, demonstration: Any) -> None:
    page = opened(ADDRESS)
    page.get_by_role("button", name="Copy for a commit message").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    with demonstration.http(None) as http:
        assert copied == http.get(f"{ADDRESS}.commit").text
    assert max(map(len, copied.splitlines())) <= 72


@pytest.mark.parametrize(
    ("accept", "suffix", "kind", "words"),
    [
        ("application/json", ".json", "application/json", '"cliffwatch-comparison"'),
        ("text/plain", ".txt", "text/plain; charset=utf-8", "14 slower"),
        ("text/markdown", ".md", "text/markdown; charset=utf-8", "| case | base | head |"),
        (None, ".commit", "text/plain; charset=utf-8", "lower is better"),
    ],
)
def test_one_address_answers_in_every_format(
    accept: str | None, suffix: str, kind: str, words: str, demonstration: Any
) -> None:
    with demonstration.http(None) as http:
        by_suffix = http.get(ADDRESS + suffix)
        assert by_suffix.headers["content-type"] == kind
        assert words in by_suffix.text
        if accept:
            by_accept = http.get(ADDRESS, headers={"Accept": accept})
            assert by_accept.text == by_suffix.text
            assert "Accept" in by_accept.headers["vary"]
        if suffix != ".json":
            assert by_suffix.text.startswith("DEMONSTRATION DATA")
        assert (
            "html"
            in http.get(ADDRESS, headers={"Accept": "text/html,application/json;q=0.9"}).headers[
                "content-type"
            ]
        )


def test_a_failed_kernel_is_told_with_its_first_compiler_error(opened: Any) -> None:
    page = opened("/compare/325d59a8d264...fe4c663abdcf")
    assert "head: it does not build" in page.locator(".failure").first.inner_text()
    assert "expected ';' before 'len'" in page.locator(".failure pre").first.inner_text()


def test_two_runs_are_compared_item_by_item_of_their_environments(running: Running, watched: Any) -> None:
    ours = run_of(boots=6, cases=3, seed=1)
    theirs = run_of(boots=6, cases=3, seed=2, created="2026-11-21T11:00:00+00:00")
    theirs.record["host"]["cpu"]["microcode"] = ["0x8301099"]
    with running.http("upload") as http:
        for run in (ours, theirs):
            put_all(http, run)
    running.do_tasks()
    page = watched.window(running)
    page.goto(f"/compare/{ours.digest}...{theirs.digest}")
    environment = page.locator("#environment").inner_text()
    assert "1 of " in environment
    assert "0x8301099" in environment
    assert "≠ changed" in environment
    assert page.locator("h1").inner_text() == "Nothing comparable: 3 invalid"
    assert "microcode" in page.locator("#trouble").inner_text()


def test_a_large_comparison_that_nobody_asked_for_is_made_meanwhile(
    running: Running, watched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cliffwatch_service.compare.pairing.AT_ONCE", 10)
    runs = [
        run_of(
            boots=6,
            cases=4,
            seed=seed,
            base=f"base{seed}",
            head=f"head{seed}",
            created=f"2026-11-21T1{seed}:00:00+00:00",
        )
        for seed in (1, 2)
    ]
    with running.http("upload") as http:
        for run in runs:
            put_all(http, run)
    pair = f"/compare/{commit_of('head1')}...{commit_of('head2')}"
    with running.http(None) as http:
        first = http.get(pair)
        assert (first.status_code, first.headers["refresh"]) == (202, "2")
        assert "reloads by itself" in first.text
    running.do_tasks()
    page = watched.window(running)
    page.goto(pair)
    assert "4 inconclusive" in page.locator("h1").inner_text()
    assert "differences may come from either side" in page.locator(".facts").inner_text()


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/compare/1234567...e975db19874b", 404, "no revision 1234567 was measured or followed here"),
        ("/compare/abc...e975db19874b", 422, "give at least 7 of its hexadecimal digits"),
        ("/compare/e975db19874b", 422, "write BASE...HEAD"),
        ("/compare/ROME...SKYLAKE", 422, "of different platforms: amd-rome and intel-skylake"),
        ("/compare/e975db19874b...TRAVERSAL", 404, "Platforms and modes are never compared with each other"),
        (f"{ADDRESS}/cases/local-storage/nothing", 404, "there is no case in this comparison"),
        (f"{ADDRESS}?platform=arm64", 404, "pair not measured on arm64"),
        ("/revisions/1234567", 404, "no revision 1234567"),
        ("/runs/" + "0" * 32, 404, "there is no run"),
        ("/series/" + "0" * 32, 404, "there is no series"),
        ("/jobs/00000000-0000-0000-0000-000000000000", 404, "there is no job"),
        ("/suites/nothing", 404, "there is no suite"),
        ("/runs/nothing", 422, "run"),
        ("/nothing", 404, "there is nothing at this address"),
    ],
)
def test_a_question_without_an_answer_says_what_is_wrong_and_where_to_go(
    path: str, status: int, words: str, demonstration: Any
) -> None:
    if "ROME" in path or "TRAVERSAL" in path:
        path = path.replace(
            "ROME...SKYLAKE",
            "{}...{}".format(*(run_on(demonstration, each) for each in ("amd-rome", "intel-skylake"))),
        )
        path = path.replace("TRAVERSAL", published_commit(demonstration))
    with demonstration.http(None) as http:
        answer = http.get(path)
    assert answer.status_code == status
    assert words in answer.text.replace("&#39;", "'")
    assert 'href="/compare"' in answer.text
    assert "<h1>" in answer.text


def run_on(running: Running, platform: str) -> str:
    return str(running.get("/runs", platform=platform)["items"][0]["run"])


def published_commit(running: Running) -> str:
    rows = running.rows("SELECT commit FROM revision WHERE subject LIKE 'published: after%'")
    return str(rows[0]["commit"])


def test_a_revision_that_is_known_and_not_measured_says_how_to_ask_for_it(running: Running) -> None:
    with running.http("upload") as http:
        put_all(http, run_of(boots=2, cases=2, parents={"base": ["older"]}))
    with running.service.transaction() as connection:
        connection.execute("INSERT INTO revision (commit) VALUES (%s)", [commit_of("older")])
    with running.http(None) as http:
        page = http.get(f"/revisions/{commit_of('older')}")
        assert "was not measured" in page.text
        assert "cliffwatch submit" in page.text
        answer = http.get(f"/compare/{commit_of('older')}...{commit_of('head')}")
    assert answer.status_code == 404
    assert "was not measured: request both together" in answer.text
