"""Reports of more than two arms: a matrix, then each arm against the first one."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
from arms import CONTROL, INT_GET, SEQ_GET, arm, exact, noisy
from golden import assert_golden

from cliffwatch.comparing.compare import compare_arms
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.thresholds import PLAIN
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonDocument
from cliffwatch.reports.context import ArmFailure, ReportContext
from cliffwatch.reports.html import html_of_arms
from cliffwatch.reports.json_report import json_of_arms
from cliffwatch.reports.several.arms import commit_of_arms, markdown_of_arms, text_of_arms

CONTEXT = ReportContext(
    setting=("config 78ca70a8f8f3", "gcc 12.2.0"),
    notes=("built in a sandbox without network or your home (bubblewrap)",),
    failures=(
        ArmFailure(arm="v3", message="the kernel does not build", evidence="core.c:3: error: expected ';'"),
    ),
    folder="results",
)


def compared() -> tuple[ComparisonSet, ...]:
    base = arm("base", {SEQ_GET: [185.787], INT_GET: [173.4], CONTROL: [275.7]})
    v1 = arm("v1", {SEQ_GET: [194.7], INT_GET: [182.4], CONTROL: [275.7]})
    v2 = arm("v2", {SEQ_GET: [185.79], INT_GET: [170.1]})
    v3 = arm("v3", {}, failure="the kernel does not build")
    sets = compare_arms(base, [v1, v2, v3], exact)
    assert not isinstance(sets, Failure)
    return sets


def test_text_begins_with_the_matrix() -> None:
    text = text_of_arms(compared(), CONTEXT, colour=False, width=120, all_metrics=False)

    assert_golden("arms.txt", text)
    assert text.count("Results: results") == 1
    assert text.count("the kernel does not build") >= 1


def test_markdown_folds_each_arm() -> None:
    text = markdown_of_arms(compared(), CONTEXT)

    assert_golden("arms.md", text)
    assert text.count("<details>") >= 3


def test_a_commit_message_has_a_block_an_arm() -> None:
    text = commit_of_arms(compared(), CONTEXT)

    assert_golden("arms.commit", text)
    assert max(map(len, text.splitlines())) <= 72


def test_json_is_one_document_whose_rows_say_their_arm() -> None:
    document = json.loads(json_of_arms(compared(), CONTEXT))

    msgspec.convert(document, ComparisonDocument)
    assert [each["name"] for each in document["arms"]] == ["base", "v1", "v2", "v3"]
    assert {row["arm"] for row in document["comparisons"]} == {"v1", "v2", "v3"}
    assert {mean["arm"] for mean in document["means"]} <= {"v1", "v2", "v3"}


def test_json_says_which_arm_a_warning_and_the_control_are_of() -> None:
    base, again, v1, v2 = (
        arm(name, {SEQ_GET: [185.787] * 4}, mode="walltime") for name in ("plain", "control", "v1", "v2")
    )
    sets = compare_arms(base, [v1, v2], noisy, replace(PLAIN, one_run=False), control=again)
    assert not isinstance(sets, Failure)
    document = json.loads(json_of_arms(sets, CONTEXT))

    msgspec.convert(document, ComparisonDocument)
    assert document["control"]["arm"] == "plain"
    (text,) = {warning["text"] for warning in document["warnings"]}
    assert text.startswith("Nothing says that base and head took turns")
    assert [warning["arm"] for warning in document["warnings"]] == ["v1", "v2"]


def test_the_page_has_the_matrix_and_a_part_an_arm(tmp_path: Path) -> None:
    page = html_of_arms(compared(), CONTEXT)

    assert "<h1>4 arms, each against base</h1>" in page
    assert page.count(" against base: ") == 3


def test_what_is_amiss_with_the_host_of_all_arms_stands_first() -> None:
    faults = ("smt: on", "boost: on")
    base = replace(arm("base", {SEQ_GET: [185.787]}), host_faults=faults)
    heads = [replace(arm(name, {SEQ_GET: [194.7]}), host_faults=faults) for name in ("v1", "v2")]
    sets = compare_arms(base, heads, exact)
    assert not isinstance(sets, Failure)

    for text in (
        text_of_arms(sets, CONTEXT, colour=False, width=120, all_metrics=False),
        markdown_of_arms(sets, CONTEXT),
        commit_of_arms(sets, CONTEXT),
        html_of_arms(sets, CONTEXT),
    ):
        words = " ".join(text[text.find("<body>") + 1 :].split())
        assert words.count("no bench host (smt: on; boost: on)") == 1
        assert words.index("no bench host (smt: on; boost: on)") < 150
