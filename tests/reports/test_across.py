"""The same comparison on several targets: one row a case, and a sentence that tells the targets apart."""

from typing import Any

import pytest
from made_documents import made_row

from cliffwatch.comparing.comparison import ComparisonSet, SideFacts
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports.answer import Circumstances, answer_across
from cliffwatch.reports.mail.report import mail_subject
from cliffwatch.reports.several.across import across, describe_targets, name_targets

BOTH = name_targets([("amd-rome", "walltime"), ("intel-skylake", "walltime")])


def row(verdict: str, *, value: str = "1", change: float | None = 0.05, **other: Any) -> ComparisonRow:
    half = 0.01
    bounds = {
        "ci_low": None if change is None else change - half,
        "ci_high": None if change is None else change + half,
    }
    return made_row(verdict=verdict, params={"nr_maps": value}, change=change, **(bounds | other))


@pytest.mark.parametrize(
    ("rome", "skylake", "verdict", "where"),
    [
        ("regression", "regression", "regression", "both"),
        ("regression", "unchanged", "regression", "amd-rome only"),
        ("unchanged", "improvement", "improvement", "intel-skylake only"),
        ("inconclusive", "improvement", "improvement", "intel-skylake at least"),
        ("failed", "regression", "regression", "intel-skylake at least"),
        ("regression", "improvement", "disagree", "disagree"),
        ("changed", "changed", "changed", "both"),
        ("changed", "unchanged", "changed", "amd-rome only"),
        ("unchanged", "unchanged", "unchanged", ""),
        ("unchanged", "inconclusive", "inconclusive", ""),
        ("failed", "unchanged", "failed", ""),
        ("regression", None, "regression", "amd-rome at least"),
    ],
)
def test_a_case_says_on_which_targets_it_holds(
    rome: str, skylake: str | None, verdict: str, where: str
) -> None:
    (found,) = across([[row(rome)], [] if skylake is None else [row(skylake)]])
    assert (found.verdict, describe_targets(found, BOTH)) == (verdict, where)


def test_changes_to_both_sides_disagree_whether_somebody_judged_them_or_not() -> None:
    (found,) = across([[row("changed")], [row("changed", change=-0.05)]])
    assert (found.verdict, describe_targets(found, BOTH)) == ("disagree", "disagree")
    (alike,) = across([[row("changed")], [row("changed", change=0.01)]])
    answer = answer_across([found, alike], BOTH, Circumstances(in_turns=True))
    assert answer.result == "1 with opposite changes, 1 changed (up to 5.0 %)"


@pytest.mark.parametrize(
    ("rome", "verdict", "where"),
    [
        ("improvement", "improvement", "amd-rome at least"),
        ("unchanged", "unchanged", ""),
        ("inconclusive", "inconclusive", ""),
        (None, "regression", "rehearsal-x86-64 at least"),
    ],
)
def test_a_rehearsal_has_no_say_beside_hardware(rome: str | None, verdict: str, where: str) -> None:
    targets = name_targets([("rehearsal-x86-64", "walltime"), ("amd-rome", "walltime")])
    rehearsed = row("regression", change=0.5, platform="rehearsal-x86-64")
    hardware = [] if rome is None else [row(rome, change=0.001, platform="amd-rome")]
    (found,) = across([[rehearsed], hardware])

    assert (found.verdict, describe_targets(found, targets)) == (verdict, where)
    assert found.size == pytest.approx(0.001 if hardware else 0.5)
    answer = answer_across([found], targets, Circumstances(in_turns=True))
    assert ("50.0 %" in answer.result) == (rome is None)


def test_the_sentence_counts_cases_and_names_what_one_target_alone_shows() -> None:
    rome = [
        row("regression", value="1"),
        row("regression", value="2"),
        row("unchanged", value="3", change=0.001),
    ]
    skylake = [row("regression", value="1"), row("unchanged", value="2"), row("unchanged", value="3")]
    found = across([rome, skylake])
    answer = answer_across(found, BOTH, Circumstances(in_turns=True))
    assert answer.result == "2 slower (up to 5.0 % more time), 1 unchanged"
    assert answer.why == "On amd-rome only: 1 slower."
    alone = answer_across(across([skylake]), BOTH[:1], Circumstances(in_turns=True))
    assert str(alone) == "1 slower (5.0 % more time), 2 unchanged"
    assert str(answer_across([], BOTH, Circumstances(in_turns=True))) == "nothing was compared"


INSTRUCTIONS = {"metric": "insns/op", "unit": "insns/op"}


def test_instructions_stand_beside_the_time_that_another_target_has() -> None:
    (found,) = across([[row("regression")], [row("regression", **INSTRUCTIONS)]])
    assert [cell is not None for cell in found.cells] == [True, True]
    assert found.measures == (("hits-latency", "ns/op"), ("insns/op", "insns/op"))


@pytest.mark.parametrize(
    "rows",
    [
        [[row("regression", **INSTRUCTIONS)]],
        [[row("unchanged")], [row("regression", **INSTRUCTIONS), row("unchanged")]],
        [[row("unchanged", metric="share", unit="%")], [row("regression", **INSTRUCTIONS)]],
        [[row("unchanged", value="2")], [row("regression", **INSTRUCTIONS)]],
    ],
)
def test_no_row_takes_the_place_of_another(rows: list[list[ComparisonRow]]) -> None:
    shown = [cell for found in across(rows) for cell in found.cells if cell is not None]
    assert sorted(map(id, shown)) == sorted(id(each) for of_target in rows for each in of_target)


def test_secondary_metrics_are_left_out_unless_asked_for() -> None:
    rows = [row("regression"), row("unchanged", metric="creates", primary=False)]
    assert len(across([rows])) == 1
    assert len(across([rows], all_metrics=True)) == 2


def test_size_is_of_what_is_told_and_certainty_is_what_is_there_at_least() -> None:
    (found,) = across([[row("regression", change=0.05)], [row("unchanged", change=0.2)]])
    assert found.size == 0.05
    assert found.sure == pytest.approx(0.19)
    (unknown,) = across([[row("missing", change=None)], []])
    assert (unknown.size, unknown.sure) == (0.0, 0.0)


def test_what_told_rows_have_in_common_is_said_only_where_others_could_have_changed() -> None:
    told = [row("regression", value="1"), row("regression", value="2")]
    other = row("unchanged", benchmark="int-get")
    assert (
        answer_across(across([[*told, other]]), BOTH[:1], Circumstances(in_turns=True)).why
        == "All of seq-get."
    )
    assert answer_across(across([told]), BOTH[:1], Circumstances(in_turns=True)).why == ""


def test_targets_have_the_shortest_names_that_tell_them_apart() -> None:
    assert [each.name for each in BOTH] == ["amd-rome", "intel-skylake"]
    mixed = name_targets([("amd-rome", "walltime"), ("amd-rome", "icount"), ("intel-skylake", "walltime")])
    assert [each.name for each in mixed] == ["amd-rome walltime", "amd-rome icount", "intel-skylake walltime"]


def test_the_answer_of_rehearsals_alone_says_so() -> None:
    targets = name_targets([("rehearsal-x86-64", "walltime"), ("amd-rome", "walltime")])
    rehearsed = [row("regression", platform="rehearsal-x86-64")]
    alone = answer_across(across([rehearsed]), targets[:1], Circumstances(in_turns=True))
    both = answer_across(
        across([rehearsed, [row("unchanged", platform="amd-rome")]]), targets, Circumstances(in_turns=True)
    )

    assert alone.result == "rehearsal: 1 slower (5.0 % more time)"
    assert both.result.startswith("no change: 1 unchanged")


def test_the_subject_of_a_mail_says_it() -> None:
    side = SideFacts(label="head", facts={}, boots=1)
    compared = ComparisonSet(
        base=side,
        head=side,
        platform="rehearsal-x86-64",
        mode="walltime",
        notable=0.01,
        alpha=0.01,
        rows=(row("regression", platform="rehearsal-x86-64"),),
        left_out=(),
    )

    assert mail_subject(compared).startswith("[bpf] head: rehearsal: ")
