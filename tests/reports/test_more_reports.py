"""Reports for mail, pull requests and browsers, and how a verdict came about."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from arms import CONTROL, INT_GET, SEQ_GET, arm, noisy
from click.testing import CliRunner
from golden import assert_golden
from msgspec import structs

from cliffwatch.command.compare import compare as compare_command
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import CHANGES, VERDICTS, ComparisonSet
from cliffwatch.reports import figures
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import ArmFailure, ReportContext
from cliffwatch.reports.explain import explain_report
from cliffwatch.reports.exports.go_bench import go_bench_report
from cliffwatch.reports.html import html_report
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.mail.report import mail_report
from cliffwatch.reports.markdown import LONGEST, markdown_report
from cliffwatch.reports.text import text_report

CONTEXT = ReportContext(
    setting=("config abea2d6b9145", "gcc (Debian 12.2.0-14) 12.2.0"),
    notes=("built without network",),
    failures=(),
    folder=None,
)


def boots(seed: int, centre: float, spread: float) -> list[float]:
    return [
        round(float(value), 3) for value in centre * np.exp(np.random.default_rng(seed).normal(0, spread, 12))
    ]


@pytest.fixture
def compared() -> ComparisonSet:
    base = {SEQ_GET: boots(1, 30, 0.003), INT_GET: boots(2, 25, 0.04), CONTROL: boots(3, 67, 0.002)}
    head = {SEQ_GET: boots(4, 32, 0.003), INT_GET: boots(5, 25, 0.04), CONTROL: boots(6, 67, 0.002)}
    control = {SEQ_GET: boots(7, 30, 0.003), INT_GET: boots(8, 25, 0.04), CONTROL: boots(9, 67, 0.002)}
    found = compare(
        arm("base", base, mode="walltime"),
        arm("head", head, mode="walltime"),
        noisy,
        control=arm("control", control, mode="walltime"),
    )
    assert isinstance(found, ComparisonSet)
    return found


def test_a_mail_has_the_layout_of_the_robot(compared: ComparisonSet) -> None:
    assert_golden("report.mail", mail_report(compared, CONTEXT))


def test_a_mail_of_two_files_names_no_commit_and_asserts_no_regression(tmp_path: Path) -> None:
    values = [100.0 + number / 10 for number in range(6)]
    for name, by in (("old.txt", 1.0), ("new.txt", 1.3)):
        lines = [f"BenchmarkA 100 {by * value:.1f} ns/op" for value in values]
        (tmp_path / name).write_text("\n".join(lines))
    sides = [str(tmp_path / name) for name in ("old.txt", "new.txt")]
    mail = CliRunner().invoke(compare_command, [*sides, "--format", "mail"]).output

    assert mail.startswith("Subject: [bpf] new.txt: A differs between the two measurements: +30.0%")
    assert f"head: {sides[1]}\nbase: {sides[0]}\n" in mail
    assert "commit" not in mail
    assert "regression" not in mail


def test_a_pull_request_reads_what_changed_first(compared: ComparisonSet) -> None:
    assert_golden("report.md", markdown_report(compared, CONTEXT))


def test_a_page_needs_nothing_else(compared: ComparisonSet) -> None:
    page = html_report(compared, CONTEXT)

    assert_golden("report.html", page)
    assert not re.search(r"<script|<link|<img|src=|https?:", page)


def test_a_verdict_is_explained_step_by_step(compared: ComparisonSet) -> None:
    explained = explain_report(compared, "seq-get")

    assert explained is not None
    assert_golden("explain.txt", explained)


def test_an_explanation_of_nothing_is_none(compared: ComparisonSet) -> None:
    assert explain_report(compared, "no-such-case") is None
    assert explain_report(compared, "local-storage/*int-get*") is not None


@pytest.mark.parametrize("width", [72, 80, 200])
@pytest.mark.parametrize("colour", [False, True])
def test_text_fits_the_terminal(compared: ComparisonSet, width: int, colour: bool) -> None:
    text = text_report(compared, CONTEXT, colour=colour, width=width)

    assert_golden(f"report-{width}{'-colour' if colour else ''}.txt", text)
    table = [line for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines() if "ns/op" in line]
    assert max(map(len, table)) <= width


HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(1)) @torvalds https://evil.example | `\n# big"


Report = Callable[[ComparisonSet, ReportContext], str]


def text_report_without_colour(compared: ComparisonSet, context: ReportContext) -> str:
    return text_report(compared, context, colour=False)


def explained(compared: ComparisonSet, _: ReportContext) -> str:
    return explain_report(compared, "*") or ""


def exported(compared: ComparisonSet, _: ReportContext) -> str:
    """The Go benchmark format of an arm that has the first row's case."""
    made = arm("base", {compared.rows[0].case: [1.0, 2.0]}, mode="walltime")
    return go_bench_report([replace(made, label=compared.base.label)], noisy)


def test_what_a_branch_can_name_becomes_no_markup(compared: ComparisonSet) -> None:
    case = {"suite": "<b>suite", "benchmark": "bench|`@all", "params": {"a": "<script>"}}
    row = structs.replace(compared.rows[0], **case, unit="<i>", reason=HOSTILE, verdict="failed")
    hostile = replace(compared, rows=(row,), base=replace(compared.base, label=HOSTILE))
    failure = ArmFailure(arm="head", message=HOSTILE, evidence=f"````\n{HOSTILE}")
    context = replace(CONTEXT, notes=(HOSTILE,), failures=(failure,))

    page, comment, mail = (report(hostile, context) for report in (html_report, markdown_report, mail_report))
    assert "<img" not in page
    assert "<script" not in page
    text = re.sub(r"(?s)(`{3,})\n.*?\n\1\n|`[^`\n]*`", "", comment)
    assert "<img" not in text
    assert "@torvalds" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert "https://" not in text
    assert "\x1b" not in mail


UNSEEN = "\x1b[31m\x1b]0;title\x07\x9b2J\r\x08\u202egnp.exe\u2066\u200f\u2028\ufeff"


@pytest.mark.parametrize(
    "report",
    [
        text_report_without_colour,
        commit_report,
        markdown_report,
        mail_report,
        html_report,
        explained,
        exported,
    ],
)
def test_nothing_is_printed_but_what_a_reader_sees(compared: ComparisonSet, report: Report) -> None:
    case = {"suite": f"suite{UNSEEN}", "benchmark": f"bench{UNSEEN}", "params": {f"a{UNSEEN}": f"b{UNSEEN}"}}
    row = structs.replace(compared.rows[0], **case, unit=f"ns{UNSEEN}", reason=UNSEEN, notes=(UNSEEN,))
    row = structs.replace(row, explained=lambda: (UNSEEN,))
    rows = tuple(structs.replace(row, verdict=verdict) for verdict in VERDICTS)
    hostile = replace(compared, rows=rows, base=replace(compared.base, label=UNSEEN), platform=UNSEEN)
    failure = ArmFailure(arm=f"head{UNSEEN}", message=UNSEEN, evidence=f"error:\n{UNSEEN}\n")
    context = replace(CONTEXT, notes=(UNSEEN,), failures=(failure,), setting=(UNSEEN,))
    found = report(hostile, context)
    assert "bench" in found
    assert not set(found) & set(
        UNSEEN.replace("[31m", "").replace("]0;title", "").replace("2J", "").replace("gnp.exe", "")
    )


def test_a_comment_fits_however_many_rows_there_are(compared: ComparisonSet) -> None:
    row = compared.rows[0]
    rows = tuple(
        structs.replace(row, verdict="unchanged", suite=f"suite-{suite}", benchmark=f"bench-{number}")
        for suite in range(30)
        for number in range(100)
    )
    comment = markdown_report(replace(compared, rows=rows), CONTEXT)

    assert len(comment) <= LONGEST + 200
    assert "more cases do not fit here" in comment


def test_every_outcome_reads_well_in_every_format(compared: ComparisonSet) -> None:
    row = compared.rows[0]
    reasons = {
        "regression": "q = 1e-05",
        "improvement": "q = 1e-05",
        "changed": "q = 1e-05",
        "unchanged": "a change of 1.0% is ruled out",
        "inconclusive": "about 40 boots per kernel would decide (22 to 73)",
        "missing": "head did not measure it",
        "failed": "head: the kernel panicked while it ran",
        "invalid": "base differs from itself by as much: the host is not quiet",
    }
    rows = []
    for number, verdict in enumerate(VERDICTS):
        change = {"regression": 0.05, "improvement": -0.05, "changed": 0.03}.get(verdict, 0.001)
        told = structs.replace(
            row,
            suite="local-storage",
            benchmark="local-storage-cache-seq-get",
            params={"nr_maps": str(number + 1)},
            verdict=verdict,
            reason=reasons[verdict],
            change=change,
            ci_low=change - 0.004,
            ci_high=change + 0.004,
            q=row.q if verdict in CHANGES else 0.4,
            better=None if verdict == "changed" else row.better,
        )
        if verdict in ("missing", "failed"):
            told = structs.replace(
                told, head=None, change=None, ci_low=None, ci_high=None, mde=None, n_head=0
            )
        rows.append(told)
    everything = replace(compared, rows=tuple(rows))

    formats = {"txt": partial(text_report, colour=False), "md": markdown_report, "mail": mail_report}
    for name, report in {
        **formats,
        "commit": commit_report,
        "html": html_report,
        "json": json_report,
    }.items():
        assert_golden(f"outcomes.{name}", report(everything, CONTEXT))


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (None, "-"),
        (0.0, "0.000"),
        (1e-9, "1.000e-09"),
        (0.00012345, "0.0001234"),
        (0.0344, "0.0344"),
        (0.05, "0.050"),
        (0.77612, "0.7761"),
        (0.776, "0.776"),
        (-0.0021, "-0.0021"),
        (1.23456, "1.235"),
        (99_999.5, "99999.500"),
        (1_234_567.8, "1,234,568"),
    ],
)
def test_numbers_have_the_digits_that_count(number: float | None, shown: str) -> None:
    assert figures.value(number) == shown
