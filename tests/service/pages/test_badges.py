"""The badge of a branch: what it says, how long it is kept, and names that would break out of it."""

import re
import xml.etree.ElementTree as ET
from typing import Any
from urllib.parse import quote

import pytest
from made_documents import made_row
from service_running import Running
from service_runs import commit_of, run_of

from cliffwatch.reports.several.across import Across, across
from cliffwatch_service.web.history.badge import badge_path, say_rows

TREE = "https://git.example.org/bpf-next.git"
HOSTILE = (
    'a"><script>alert(1)</script>',
    "a)](https/evil.example)!",
    "a&lt;b`'{{7-7}}",
    "users/a/b",
    "a#c%20e&d=1",
    "x" * 200,
)


def words_of(svg: str) -> str:
    """What stands right in a badge, which must be XML."""
    return ET.fromstring(svg).findall(".//{*}text")[-1].text or ""


def badge(running: Running, branch: str = "master", scope: str | None = None, **query: str) -> Any:
    with running.http(scope) as http:
        return http.get(f"/badge/{quote(branch)}.svg", params=query)


@pytest.mark.parametrize(
    ("shift", "spread", "words"),
    [(0.1, 0.001, "1 slower by 10 %"), (-0.1, 0.001, "1 faster by 9.9 %"), (0.0, 0.0005, "no change")],
)
def test_a_badge_names_the_largest_change(running: Running, shift: float, spread: float, words: str) -> None:
    running.follow(TREE, "master", [commit_of("base"), commit_of("head")])
    assert words_of(badge(running).text) == "not measured"
    running.measure(run_of(boots=8, cases=6, shift=shift, spread=spread))
    running.do_tasks()
    answer = badge(running)
    assert words_of(answer.text) == words
    assert commit_of("head")[:12] in answer.text
    assert words_of(badge(running, platform="intel-skylake").text) == "not measured"


def test_a_badge_may_be_kept_for_five_minutes_and_asked_again_by_its_tag(running: Running) -> None:
    running.follow(TREE, "master", [commit_of("base")])
    answer = badge(running)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cache-control"] == "public, max-age=300"
    with running.http(None) as http:
        again = http.get("/badge/master.svg", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_badge_loads_nothing(running: Running) -> None:
    running.follow(TREE, "master", [commit_of("base")])
    answer = badge(running)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert re.findall(r"(?:href|src|url)\W+\w+", answer.text) == ["url(#r"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name: str, running: Running) -> None:
    running.follow(TREE, name, [commit_of("base")])
    path = badge_path(name, TREE)
    assert re.fullmatch(r"[\w/.~%?=&+-]+", path), "it could end a Markdown link"
    with running.http(None) as http:
        answer = http.get(path)
        page = http.get("/branches").text
    assert (answer.status_code, words_of(answer.text)) == (200, "not measured")
    assert f'src="{path.replace("&", "&amp;")}"' in page
    assert "<script>alert" not in page + answer.text


def test_a_name_in_several_trees_needs_its_tree(running: Running) -> None:
    for tree in (TREE, "https://git.example.org/other.git"):
        running.follow(tree, "master", [commit_of("base")])
    assert badge(running).status_code == 409
    assert words_of(badge(running, tree=TREE).text) == "not measured"
    assert badge(running, "no-such").status_code == 404


def row(verdict: str, change: float | None) -> Across:
    """A case that one target measured."""
    return across([[made_row(verdict=verdict, change=change)]])[0]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("regression", 0.055), ("regression", 0.01), ("regression", None)], "3 slower up to 5.5 %"),
        ([("regression", 0.055), ("improvement", -0.01)], "1 slower by 5.5 %, 1 faster"),
        ([("improvement", -0.02), ("failed", None)], "1 failed"),
        ([("changed", 0.3), ("unchanged", 0.0)], "1 changed by 30 %"),
        ([("unchanged", 0.0), ("inconclusive", 0.0)], "inconclusive"),
        ([("regression", None)], "1 slower"),
        ([], "not measured"),
    ],
)
def test_the_worst_verdict_decides(rows: list[tuple[str, float | None]], words: str) -> None:
    assert say_rows([row(*each) for each in rows])[0] == words
