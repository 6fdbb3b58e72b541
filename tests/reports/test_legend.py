"""Every format says what its intervals are, from which change on rows are reported, and marks what is not
decided.
"""

import re
from collections.abc import Callable
from functools import partial

import pytest
from arms import CONTROL, INT_GET, SEQ_GET, arm, exact, noisy
from golden import assert_golden

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.ordering import is_beyond_noise
from cliffwatch.comparing.thresholds import COUNTED, NOISY, Method
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import NO_CONTEXT, ReportContext
from cliffwatch.reports.figures import size
from cliffwatch.reports.html import html_report
from cliffwatch.reports.legend import legend
from cliffwatch.reports.mail.report import mail_report
from cliffwatch.reports.markdown import markdown_report
from cliffwatch.reports.text import text_report
from cliffwatch.samples import CaseKey, MetricTraits
from cliffwatch.shell_lines import WIDTH

FORMATS: dict[str, Callable[[ComparisonSet, ReportContext], str]] = {
    "txt": partial(text_report, colour=False),
    "md": markdown_report,
    "mail": mail_report,
    "commit": commit_report,
    "html": html_report,
}


def int_get_is_noisy(case: CaseKey, *_: object) -> MetricTraits:
    return noisy() if case == INT_GET else exact()


@pytest.fixture
def mixed() -> ComparisonSet:
    """Under icount: a counted regression, a noisy row, and a counted row that differs but whose boots differ
    as much.
    """
    base = arm(
        "base",
        {SEQ_GET: [185.0] * 5, INT_GET: [30.0, 30.1, 30.2, 29.9, 30.0], CONTROL: [100.0, 101.0, 100.5] * 2},
    )
    head = arm("head", {SEQ_GET: [194.0] * 5, INT_GET: [30.1, 30.0, 30.1, 30.0, 29.9], CONTROL: [101.6] * 6})
    compared = compare(base, head, int_get_is_noisy)
    assert isinstance(compared, ComparisonSet)
    assert [row.verdict for row in compared.rows] == ["regression", "unchanged", "inconclusive"]
    assert is_beyond_noise(compared.rows[2])
    return compared


@pytest.mark.parametrize("name", FORMATS)
def test_rows_with_different_thresholds_say_their_own(mixed: ComparisonSet, name: str) -> None:
    assert_golden(f"thresholds.{name}", FORMATS[name](mixed, NO_CONTEXT))


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"commit"}))
def test_an_inconclusive_row_is_never_read_as_a_regression(mixed: ComparisonSet, name: str) -> None:
    """Its line has the sign or the word; in formats without a column for verdicts the change does not stand
    in it.
    """
    lines = FORMATS[name](mixed, NO_CONTEXT).splitlines()
    of_case = [line for line in lines if "hashmap_nr_keys_used" in line.replace("\\", "") or "101.6" in line]

    assert any("? inconclusive" in line for line in lines)
    assert all("+1.0" not in line for line in of_case if "inconclusive" not in line and "? +1" not in line)


@pytest.mark.parametrize("width", [72, 200])
def test_groups_with_different_thresholds_say_theirs(mixed: ComparisonSet, width: int) -> None:
    text = text_report(mixed, NO_CONTEXT, colour=False, width=width)

    sizes = "|".join(re.escape(size(threshold)) for threshold in (COUNTED, NOISY))
    assert len(re.findall(rf"threshold\s(?:{sizes})", text)) == 3


def test_a_commit_message_stays_within_its_width(mixed: ComparisonSet) -> None:
    assert max(map(len, commit_report(mixed, NO_CONTEXT).splitlines())) <= WIDTH


@pytest.mark.parametrize(
    ("traits", "method", "sentences"),
    [
        (
            exact,
            Method(),
            [
                "run-to-run noise of equal kernels (counted values)",
                f"below {size(COUNTED)} are not reported;",
            ],
        ),
        (noisy, Method(), ["Intervals: 90 % confidence.", f"below {size(NOISY)} are not reported;"]),
        (
            noisy,
            Method(notable=0.0025, alpha=0.05),
            ["Intervals: 95 % confidence.", "below 0.25 % are not reported;"],
        ),
        (
            int_get_is_noisy,
            Method(),
            [
                "90 % confidence for noisy rows; for counted",
                f"below {size(COUNTED)} in counted rows and {size(NOISY)} in noisy",
            ],
        ),
        (
            int_get_is_noisy,
            Method(notable=0.03),
            ["90 % confidence for noisy rows; for counted", "below 3 % are not reported; ~"],
        ),
    ],
)
def test_the_legend_says_what_stands_in_the_rows(
    traits: Callable[..., MetricTraits], method: Method, sentences: list[str]
) -> None:
    values = {SEQ_GET: [100.0, 100.4, 99.7, 100.2, 99.9], INT_GET: [100.0, 100.4, 99.7, 100.2, 99.9]}
    compared = compare(arm("base", values), arm("head", values), traits, method)
    assert isinstance(compared, ComparisonSet)

    said = " ".join(legend(compared.rows, compared.means))
    assert [sentence for sentence in sentences if sentence not in said] == []


def test_nothing_compared_has_no_intervals_to_explain() -> None:
    compared = compare(arm("base", {}), arm("head", {}), noisy)
    assert isinstance(compared, ComparisonSet)

    assert "Intervals" not in text_report(compared, NO_CONTEXT, colour=False)


def test_a_row_that_shows_more_than_chance_makes_is_likely_and_its_reason_comes_first() -> None:
    nearly = [100.0, 101, 102, 103, 104, 108], [105.0, 106, 107, 109, 110, 111]
    nothing = [100.0, 104, 98, 103, 99, 102], [101.0, 103, 97, 104, 100, 99]
    base, head = (
        arm(name, {INT_GET: nothing[side], SEQ_GET: nearly[side]}, mode="walltime")
        for side, name in enumerate(("base", "head"))
    )
    compared = compare(base, head, noisy)
    assert isinstance(compared, ComparisonSet)

    text = text_report(compared, NO_CONTEXT, colour=False, width=140)

    assert text.count("\n? likely: local-storage") == 1
    assert text.count("\n? inconclusive: local-storage") == 1
    assert "? likely: chance alone makes as much less than once in twenty rows" in text
    assert text.index("seq-get/nr_maps=16: inconclusive: likely: p = 0.02 alone") < text.index(
        "int-get/nr_maps=16: inconclusive"
    )
