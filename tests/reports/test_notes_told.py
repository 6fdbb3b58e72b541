"""Notes on a row and on its run: whoever reads a change reads them, whatever the form."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from arms import INT_GET, SEQ_GET, arm

from cliffwatch.comparing.compare_run import Sides, compare_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import NO_CONTEXT, ReportContext
from cliffwatch.reports.explain import explain_report
from cliffwatch.reports.html import html_report
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.mail.report import mail_report
from cliffwatch.reports.markdown import markdown_report
from cliffwatch.reports.several.benchstat import benchstat_report
from cliffwatch.reports.text import text_report
from cliffwatch.samples import Arm

OF_ROW = "between layouts"
OF_RUN = "--time: spread between layouts 1.0 %, between boots 0.2 %"
CONTEXT = replace(NO_CONTEXT, notes=(OF_RUN,))
LAYOUTS, BOOTS = 8, 4

FORMATS: dict[str, Callable[[ComparisonSet, ReportContext], str]] = {
    "text": partial(text_report, colour=False),
    "markdown": markdown_report,
    "mail": mail_report,
    "html": html_report,
    "benchstat": benchstat_report,
}
"""Forms that have the notes on rows and those on the run."""


def in_layouts(name: str, seed: int, shift: float) -> Arm:
    """An arm whose layouts differ more than the boots of one layout."""
    random = np.random.default_rng(seed)
    values = {
        case: (
            100
            * np.exp(shift + np.repeat(random.normal(0, 0.01, LAYOUTS), BOOTS) + random.normal(0, 0.002, 32))
        ).tolist()
        for case in (SEQ_GET, INT_GET)
    }
    made = arm(name, values, mode="walltime")
    boots = tuple(replace(boot, layout=f"{name}-{number // BOOTS}") for number, boot in enumerate(made.boots))
    return replace(made, boots=boots)


@pytest.fixture(scope="module")
def compared() -> ComparisonSet:
    found = compare_run(Sides(base=in_layouts("base", 1, 0.0), head=in_layouts("head", 2, 0.2), one_run=True))
    assert isinstance(found, ComparisonSet)
    assert {row.verdict for row in found.rows} == {"regression"}
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_every_form_has_the_notes_on_rows_and_on_the_run(name: str, compared: ComparisonSet) -> None:
    report = FORMATS[name](compared, CONTEXT)
    for row in compared.rows:
        assert row.notes[-1] in report
        assert OF_ROW in row.notes[-1]
    assert OF_RUN in report


def test_a_commit_message_has_those_on_the_rows_that_changed(compared: ComparisonSet) -> None:
    text = " ".join(commit_report(compared, CONTEXT).split())
    assert all(row.notes[-1] in text for row in compared.rows)


def test_the_explanation_of_a_row_has_its_note(compared: ComparisonSet) -> None:
    (row, *_) = compared.rows
    assert row.notes[-1] in (explain_report(compared, row.benchmark) or "")


def test_programs_read_both(compared: ComparisonSet) -> None:
    document = json.loads(json_report(compared, CONTEXT))
    assert document["notes"] == [OF_RUN]
    assert [row["notes"] for row in document["comparisons"]] == [list(row.notes) for row in compared.rows]
