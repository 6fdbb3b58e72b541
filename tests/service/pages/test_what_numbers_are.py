"""What pages say of the numbers on them: intervals of which level, thresholds, how much got worse and how
much better.
"""

import re
from html import unescape
from typing import Any

import pytest
from pages_named import COMPARISON, PAGES, address
from service_running import Running


def text_of(running: Running, path: str) -> str:
    """A page's content in words, without scripts."""
    with running.http(None) as http:
        page = http.get(path).text
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.split("<body>")[1])).split())


@pytest.mark.parametrize("name", PAGES)
def test_no_page_calls_all_its_intervals_by_one_level(name: str, demonstration: Any) -> None:
    assert "Intervals are of 95 %" not in text_of(demonstration, address(demonstration, name))


def test_the_compare_page_says_what_bounds_are_on_every_target(demonstration: Any) -> None:
    text = text_of(demonstration, f"/compare/{COMPARISON}")
    footer = text[text.rindex("amd-rome walltime:") :]
    assert footer.startswith(
        "amd-rome walltime: 95 % or 90 % interval; emulated-x86-64 icount: run-to-run noise; intel-skylake"
        " walltime: 95 % or 90 % interval"
    )
    assert "noise floor" not in text


def test_a_history_says_of_which_level_its_intervals_are(demonstration: Any) -> None:
    text = text_of(demonstration, address(demonstration, "series"))
    assert "the interval that holds it at 95 %" in text
    assert re.findall(r"\+\d\.\d\d % \.\. \+\d\.\d\d % \d\d % interval", text) == [
        "+2.88 % .. +3.61 % 95 % interval",
        "+5.23 % .. +6.33 % 95 % interval",
    ]


def test_the_inbox_tells_worse_from_better_and_counts_each_case_once(demonstration: Any) -> None:
    text = text_of(demonstration, "/regressions")
    assert (
        "▲ 12 slower (up to 7.9 % more instructions) , ▼ 8 faster (up to 2.4 % less time) on amd-rome, emulated-x86-64,"
        " intel-skylake" in text
    )
    assert "series on" not in text
    assert "hits-throughput" not in text
    assert "▲ +7.93 % slower (+7.91 % .. +7.95 % run-to-run noise ) bpf-hashmap-lookup" in text


def test_confirmed_is_said_of_changes_alone(demonstration: Any) -> None:
    """A comparison confirms a change; a person acknowledges a report."""
    assert "confirmed" not in text_of(demonstration, "/regressions?state=all")
    with demonstration.http("read") as http:
        assert http.get("/api/v1/reports", params={"state": "confirmed"}).status_code == 422
        assert http.get("/api/v1/changes", params={"state": "confirmed"}).status_code == 200


def test_a_report_and_its_comparison_name_each_other(demonstration: Any) -> None:
    with demonstration.http(None) as http:
        (report,) = set(
            re.findall(r'href="(/regressions/[0-9a-f]{32})"', http.get(f"/compare/{COMPARISON}").text)
        )
        back = re.findall(r'href="(/compare/[0-9a-f]{40}\.\.\.[0-9a-f]{40})"', http.get(report).text)
        assert back
        assert report in http.get(back[0]).text
