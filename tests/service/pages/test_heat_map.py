"""The heat map of a branch: what each commit changed in each case, on its page and as a picture."""

import xml.etree.ElementTree as ET
from typing import Any
from urllib.parse import quote

import pytest
from service_running import Running
from service_runs import commit_of, run_of

TREE = "https://git.example.org/bpf-next.git"


def cells(page: Any, kind: str) -> Any:
    return page.locator(f".heat .row a:has(rect.{kind})")


def test_a_cell_says_what_a_commit_changed_and_leads_to_its_boots(opened: Any) -> None:
    page = opened("/", script=False)
    page.locator("h3 a", has_text="for-next").click()
    assert page.locator(".heat .row:not(.heads)").count() == 20, "one row per case"
    assert page.locator(".heat .row:not(.heads)").first.locator("a").count() == 30, "one cell per commit"
    assert cells(page, "worse").count() == 13
    assert "could see" in str(cells(page, "same").first.get_attribute("aria-label"))
    worst = cells(page, "worse").last
    words = str(worst.get_attribute("aria-label"))
    assert "▲ +5" in words
    assert "slower" in words
    assert worst.locator("text").inner_html() == "▲", "not by colour alone"
    worst.click()
    assert "/cases/local-storage/local-storage-cache-seq-get/nr_maps=1000" in page.url
    assert "every boot" in page.locator("main").inner_text()


def test_the_picture_has_colours_legend_and_no_links(demonstration: Running) -> None:
    with demonstration.http(None) as http:
        answer = http.get("/branches/for-next.svg?platform=amd-rome&mode=walltime")
        other = http.get("/branches/for-next.svg?platform=riscv")
    assert other.status_code == 404, "nothing was compared there"
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "prefers-color-scheme: dark" in answer.text
    assert "href" not in answer.text
    words = [each.text for each in ET.fromstring(answer.content).iter("{http://www.w3.org/2000/svg}text")]
    assert {"for-next", "amd-rome walltime", "worse", "better", "unchanged", "inconclusive"} <= set(words)
    assert len(answer.content) < 150_000


@pytest.mark.parametrize("name", ['a"><script>alert(1)</script>', "users/a/b", "a&lt;b`'{{7-7}}"])
def test_a_map_is_bounded_and_hostile_names_stay_text(name: str, running: Running) -> None:
    running.follow(TREE, name, [commit_of("base"), commit_of("head")])
    with running.http(None) as http:
        path = f"/branches/{quote(name)}"
        assert "No revision of this branch was compared yet" in http.get(path).text
        running.measure(run_of(boots=4, cases=60, shift=0.2))
        running.do_tasks()
        page, svg = http.get(path), http.get(f"{path}.svg")
        assert http.get(f"/branches/{quote(name)}?tree=elsewhere").status_code == 404
    assert svg.status_code == 200
    assert ET.fromstring(svg.content).get("width") == "920"
    assert page.text.count('class="row" role="group"') == 40
    assert "20 more cases" in page.text
    assert "<script>alert" not in page.text + svg.text


def test_a_branch_of_several_trees_needs_its_tree(running: Running) -> None:
    running.follow(TREE, "master", [commit_of("base")])
    running.follow("https://git.example.org/other.git", "master", [commit_of("base")])
    with running.http(None) as http:
        assert http.get("/branches/master").status_code == 409
        assert http.get("/branches/master", params={"tree": TREE}).status_code == 200
