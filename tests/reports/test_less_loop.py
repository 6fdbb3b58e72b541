"""Reports show a latency less its empty loop after the whole one, and count neither twice."""

import json

import pytest
from arms import CONTROL, SEQ_GET, arm
from golden import assert_golden

from cliffwatch.comparing.compare import compare_arms
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.html import html_report
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.markdown import markdown_report
from cliffwatch.reports.several.arms import markdown_of_arms, text_of_arms
from cliffwatch.reports.text import text_report
from cliffwatch.samples import CaseKey, MetricTraits, Mode

LOOP = CaseKey(SEQ_GET.suite, "local-storage-seq-get-empty-loop", SEQ_GET.params)


def traits(case: CaseKey, metric: str, unit: str, mode: Mode | None) -> MetricTraits:
    loop = LOOP.benchmark if case == SEQ_GET else ""
    return MetricTraits(better="lower", assume="exact", repeatability=0.0005, empty_loop=loop)


@pytest.fixture
def compared() -> tuple[ComparisonSet, ...]:
    base = arm("base", {SEQ_GET: [185.759], LOOP: [141.2], CONTROL: [67.0]})
    v1 = arm("v1", {SEQ_GET: [194.668], LOOP: [141.2], CONTROL: [67.0]})
    v2 = arm("v2", {SEQ_GET: [185.761], LOOP: [141.2], CONTROL: [67.0]})
    answer = compare_arms(base, [v1, v2], traits)
    assert isinstance(answer, tuple)
    return answer


def test_a_terminal_a_pull_request_and_a_commit_message(compared: tuple[ComparisonSet, ...]) -> None:
    shown = (
        text_report(compared[0], NO_CONTEXT, colour=False),
        markdown_report(compared[0], NO_CONTEXT),
        commit_report(compared[0], NO_CONTEXT),
        text_of_arms(compared, NO_CONTEXT, colour=False, all_metrics=False),
    )

    assert_golden("less-loop.txt", "\n".join(shown))


def test_the_verdict_is_that_of_the_whole_latency(compared: tuple[ComparisonSet, ...]) -> None:
    assert compared[0].counts()["regression"] == 1
    assert compared[0].counts()["unchanged"] == 2


def test_a_page_names_both_and_a_document_says_which_decides(compared: tuple[ComparisonSet, ...]) -> None:
    assert f"{SEQ_GET}, less loop" in html_report(compared[0], NO_CONTEXT)
    assert f"`{SEQ_GET}, less loop`" in markdown_of_arms(compared, NO_CONTEXT)
    rows = [
        row for row in json.loads(json_report(compared[0], NO_CONTEXT))["comparisons"] if row["base"] < 50
    ]
    assert [(row["metric"], row["primary"], row["verdict"]) for row in rows] == [
        ("latency-less-loop", False, "regression")
    ]
