"""Curves of several parameters in every report: the one that head changes by name, the others by number."""

import json
from collections.abc import Callable
from functools import partial
from html import unescape

import pytest
from arms import arm, exact

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.comparison import ComparisonDocument
from cliffwatch.formats.reading import read_as
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import NO_CONTEXT, ReportContext
from cliffwatch.reports.html import html_report
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.mail.report import mail_report
from cliffwatch.reports.markdown import markdown_report
from cliffwatch.reports.text import text_report
from cliffwatch.samples import CaseKey

REPORTS = {
    "text": partial(text_report, colour=False),
    "commit": commit_report,
    "mail": mail_report,
    "markdown": markdown_report,
    "html": html_report,
}


def by_maps_and(name: str, values: list[str]) -> ComparisonSet:
    """Flat over `nr_maps` for each of the values of the other parameter; in head the first jumps by half from
    16 maps on.
    """
    sides = []
    for slow in (None, values[0]):
        measured = {
            CaseKey("maps", "map-lookup", (("nr_maps", str(maps)), (name, value))): [
                30.0 if value == slow and maps >= 16 else 20.0
            ]
            for value in values
            for maps in (1, 2, 4, 8, 16, 32, 64)
        }
        sides.append(arm("head" if slow else "base", measured))
    compared = compare(*sides, exact)
    assert isinstance(compared, ComparisonSet)
    return compared


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_tells_the_curve_that_changed_and_counts_the_others(name: str) -> None:
    report: Callable[[ComparisonSet, ReportContext], str] = REPORTS[name]
    said = " ".join(unescape(report(by_maps_and("producers", ["2", "1", "4"]), NO_CONTEXT)).split()).replace(
        "\\", ""
    )

    assert "map-lookup at producers=2" in said
    assert "head: jumps between nr_maps 8 and 16 (+50 %)" in said
    assert "2 more curves over nr_maps without a breakpoint or a sure change of course" in said
    assert said.count("no breakpoint") == 1


def test_json_has_every_curve_and_comes_back_whole() -> None:
    compared = by_maps_and("use_case", ["overwrite", "batch"])
    text = json_report(compared, NO_CONTEXT)
    back = read_as(text.encode(), ComparisonDocument)

    assert [(each["fixed"], each["differs"]) for each in json.loads(text)["sweeps"]] == [
        ({"use_case": "overwrite"}, True),
        ({"use_case": "batch"}, False),
    ]
    assert isinstance(back, ComparisonDocument)
    assert back.sweeps == compared.sweeps


@pytest.mark.parametrize("name", REPORTS)
def test_what_is_fixed_cannot_break_a_report(name: str) -> None:
    compared = by_maps_and("use_case", ["\x1b[31m</p><script>`@torvalds`\n|", "batch"])
    report = REPORTS[name](compared, NO_CONTEXT)

    assert "\x1b" not in report
    assert "<script>" not in report or name != "html"
