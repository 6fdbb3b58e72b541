"""Notes on a row and on its run: whoever reads a change reads them, whatever the form."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from arms import INT_GET, SEQ_GET, arm
from made_documents import made_record

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.compare_run import Sides, compare_run, with_fresh_boots
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.result_directory import arm_of_record
from cliffwatch.formats.run_record import ArmFacts, ArmRecord
from cliffwatch.importing import ImportedFile, import_text
from cliffwatch.parsers.table.comma_separated import csv_lines
from cliffwatch.parsers.table.rows import rows_of_arm
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import NO_CONTEXT, ReportContext, context_of_record
from cliffwatch.reports.explain import explain_report
from cliffwatch.reports.exports.go_bench import go_bench_report, run_settings
from cliffwatch.reports.html import html_report
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.mail.report import mail_report
from cliffwatch.reports.markdown import markdown_report
from cliffwatch.reports.several.benchstat import benchstat_report
from cliffwatch.reports.text import text_report
from cliffwatch.samples import LUCK, REHEARSAL_PLATFORM, Arm

ONE_LAYOUT = f"each kernel has one layout: {LUCK}"
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


@pytest.mark.parametrize("shift", [0.2, 0.0], ids=["with a change", "without one"])
@pytest.mark.parametrize("name", [*FORMATS, "commit"])
def test_every_form_warns_of_one_layout_and_has_the_check_of_base(name: str, shift: float) -> None:
    arms = (in_layouts("base", 1, 0.0), in_layouts("control", 3, 0.0), in_layouts("head", 2, shift))
    base, control, head = (replace(each, cautions=(ONE_LAYOUT,)) for each in arms)
    compared = compare_run(Sides(base=base, head=head, control=control, one_run=True))
    assert isinstance(compared, ComparisonSet)
    assert bool(compared.changed_rows()) == bool(shift)
    warning = f"{ONE_LAYOUT[0].upper()}{ONE_LAYOUT[1:]}."
    assert compared.warnings == (warning,)

    text = {**FORMATS, "commit": commit_report}[name](compared, NO_CONTEXT)
    assert warning in " ".join(text.split())
    assert "ase vs base check in other layouts: 0 of 2 false positives" in " ".join(text.split())
    assert name != "commit" or len(text.splitlines()) <= 30


def test_a_commit_message_has_the_command_of_a_rehearsal_whole(compared: ComparisonSet) -> None:
    command = (
        "cliffwatch run --base f95f0ea68aba --head efa5a3966d84 --suite local-storage --profile smoke --mode"
        " walltime --accel tcg --boots 10 --layouts 8"
    )
    text = commit_report(compared, replace(NO_CONTEXT, repeat=command))

    assert command in " ".join(text.replace("\\\n", "").split())
    assert max(map(len, text.splitlines())) <= 72


def test_one_layout_of_one_side_is_told_with_the_side() -> None:
    base, head = in_layouts("base", 1, 0.0), in_layouts("head", 2, 0.0)
    compared = compare_run(Sides(base=base, head=replace(head, cautions=(ONE_LAYOUT,))))
    assert isinstance(compared, ComparisonSet)
    assert f"Head: {ONE_LAYOUT}." in compared.warnings


def test_fresh_boots_in_one_layout_are_told() -> None:
    base, head = in_layouts("base", 1, 0.0), in_layouts("head", 2, 0.0)
    fresh = [replace(in_one_layout(each), cautions=(ONE_LAYOUT,)) for each in (base, head)]
    sides = with_fresh_boots(Sides(base=base, head=head), *fresh)
    assert isinstance(sides, Sides)
    assert (sides.base.cautions, sides.head.cautions) == ((ONE_LAYOUT,), (ONE_LAYOUT,))


def in_one_layout(side: Arm) -> Arm:
    return replace(side, boots=tuple(replace(boot, layout=None) for boot in side.boots))


def test_a_run_has_the_caution_as_a_warning_and_not_as_a_note_too() -> None:
    base = ArmRecord(name="base", label="base", facts=ArmFacts())
    record = made_record(notes=("booted at noon", ONE_LAYOUT), arms=(base,))

    assert arm_of_record(record, record.arms[0], ()).cautions == (ONE_LAYOUT,)
    assert context_of_record(record, None).notes == ("booted at noon",)


def test_samples_for_other_tools_have_the_layouts_and_the_caution() -> None:
    arms = [replace(in_layouts("base", 1, 0.0), cautions=(ONE_LAYOUT,))]
    settings = run_settings(None, None, layouts=1, arms=arms)
    assert settings == {"layouts": "1", "caution": ONE_LAYOUT}
    text = go_bench_report(arms, load_catalogue().traits, settings=settings)
    assert f"\nlayouts: 1\ncaution: {ONE_LAYOUT}\n" in text
    table = "".join(
        piece.decode() for piece in csv_lines(rows_of_arm("run", arms[0], arms[0].boots, settings))
    )
    for exported in (text, table):
        read = import_text(exported, "exported")
        assert isinstance(read, ImportedFile)
        assert read.arms["base"].cautions == (ONE_LAYOUT,)
    # Counted instructions do not depend on layouts.
    assert run_settings(None, None) == {}


def test_a_table_for_go_developers_has_the_layouts(compared: ComparisonSet) -> None:
    assert "\nlayouts: 8\n" in benchstat_report(compared, NO_CONTEXT)


def test_the_explanation_of_rows_has_the_warnings_and_the_check_of_base() -> None:
    arms = {name: in_layouts(name, seed, 0.0) for name, seed in (("base", 1), ("head", 2), ("control", 3))}
    rehearsed = {name: replace(each, platform=REHEARSAL_PLATFORM) for name, each in arms.items()}
    compared = compare_run(Sides(**rehearsed, one_run=True))
    assert isinstance(compared, ComparisonSet)

    text = explain_report(compared, "*") or ""
    assert text.startswith("This is a rehearsal: ")
    assert "\nbase vs base check in other layouts: 0 of 2 false positives" in text


def test_the_explanation_of_a_row_has_its_note(compared: ComparisonSet) -> None:
    (row, *_) = compared.rows
    assert row.notes[-1] in (explain_report(compared, row.benchmark) or "")


def test_programs_read_both(compared: ComparisonSet) -> None:
    document = json.loads(json_report(compared, CONTEXT))
    assert document["notes"] == [OF_RUN]
    assert [row["notes"] for row in document["comparisons"]] == [list(row.notes) for row in compared.rows]
