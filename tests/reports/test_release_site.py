"""The pages of `cliffwatch releases` speak of releases, show their reasons, and fit a narrow window."""

from dataclasses import replace
from typing import Any

import pytest
from browsing import launch
from playwright.sync_api import sync_playwright

from cliffwatch.comparing.attribution.changes import FunctionChange, functions_of_whole
from cliffwatch.comparing.attribution.operations import Function
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.reports.several.releases.audit import Audit, AuditRow, Cell, Release, Step, SuiteAudit
from cliffwatch.reports.several.releases.site import pages_of
from cliffwatch.samples import CaseKey

CASE = CaseKey("uprobes", "trig-" + "uprobe-" * 30 + "multi", (("nr_maps", "1" * 100),))
BELOW = "real, but below the threshold of 4.7%"
NARROW = {"width": 400, "height": 800}


def compared(base: float, head: float, verdict: Verdict = "regression", reason: str = "") -> ComparisonRow:
    return ComparisonRow(
        suite=CASE.suite,
        benchmark=CASE.benchmark,
        params=dict(CASE.params),
        metric="insns",
        unit="insns/op",
        better="less",
        platform="emulated-x86-64",
        mode="icount",
        n_base=2,
        n_head=2,
        base=base,
        head=head,
        change=head / base - 1,
        ci_low=None,
        ci_high=None,
        p=None,
        q=None,
        mde=None,
        threshold=0.01,
        interval_level=None,
        verdict=verdict,
        reason=reason,
        needs=None,
        notes=(),
        primary=True,
    )


def audit() -> Audit:
    """An audit of three releases: the first has no value, the last executes a function more."""
    changes = (FunctionChange(Function("kernel", "arg_track"), 0.0, 43.5),)
    functions = functions_of_whole(changes, measured=(64.0, 107.5), hidden_in=None, averaged=False)
    step = Step(earlier="6.12", later="7.3", row=compared(64.0, 107.5), functions=functions)
    cells = (Cell(value=None, reason="failed: no such map"), Cell(value=64.0), Cell(value=107.5))
    unreported = replace(step, row=compared(64.0, 66.0, "unchanged", BELOW), functions=None)
    rows = tuple(
        AuditRow(case=CASE, metric="insns", unit="insns/op", bench="7.3", cells=cells, steps=(None, each))
        for each in (step, unreported)
    )
    suite = SuiteAudit(
        name="uprobes", rows=rows, empty_cases=(), sweeps=(), notes=(f"{CASE} has no bench",), seconds=1.0
    )
    releases = tuple(
        Release(name=name, version=f"{name}.0", commit="c" * 40, sections={}, config_notes=())
        for name in ("6.1", "6.12", "7.3")
    )
    return Audit(
        releases=releases, suites=(suite,), profile="smoke", created="", setting=(), notes=(f"Not {CASE}",)
    )


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return dict(pages_of(audit()))


def test_functions_are_those_of_releases_and_not_of_base_and_head(pages: dict[str, str]) -> None:
    assert "not executed in 6.12" in pages["uprobes.html"]
    assert "in base" not in pages["uprobes.html"]


def test_the_reason_of_an_empty_cell_is_text(pages: dict[str, str]) -> None:
    _, _, below = pages["uprobes.html"].partition("<h2>Not measured</h2>")

    assert "failed: no such map" in below


def test_the_reason_why_a_difference_is_not_reported_is_text(pages: dict[str, str]) -> None:
    _, _, below = pages["uprobes.html"].partition("<h2>Differences that are not reported</h2>")

    assert f"+3.12 %: {BELOW}" in below


def test_both_forms_of_the_report_call_the_bench_the_same(pages: dict[str, str]) -> None:
    assert ">bench</th>" in pages["uprobes.html"]


def test_no_page_is_wider_than_a_narrow_window(pages: dict[str, str]) -> None:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page: Any = browser.new_page(viewport=NARROW)
        for name, text in pages.items():
            page.set_content(text.replace("<details", "<details open"))
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        browser.close()
