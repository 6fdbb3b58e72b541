"""tools/planted_watching pushes what the seed draws, and counts what a service named."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/runner")]
from planted_watching.judging import Judgement, Planted, judge, named_by, table  # noqa: E402
from planted_watching.pushing import BRANCH, Pushes, drawn_tips  # noqa: E402
from toy import git, toy_repository  # noqa: E402

PUSHED = datetime(2026, 1, 1, 12, tzinfo=UTC)
PLANTED = (
    Planted(patch="slower.patch", commit="b" * 40, parent="a" * 40, pushed=PUSHED),
    Planted(patch="faster.patch", commit="d" * 40, parent="c" * 40, pushed=PUSHED),
)


def at(minutes: float) -> str:
    return (PUSHED + timedelta(minutes=minutes)).isoformat()


def report(pair: str, *, minutes: float = 6, changes: int = 3) -> dict[str, Any]:
    """A report of the API: `pair` has the digits of base and head."""
    base, head = (digit * 40 for digit in pair)
    return {"base": base, "head": head, "opened": at(minutes), "largest": 0.021, "changes": changes}


def change(pair: str, kind: str, size: float = -0.01, state: str = "confirmed") -> dict[str, Any]:
    base, head = (digit * 40 for digit in pair)
    return {"base": base, "head": head, "found": at(4), "size": size, "kind": kind, "state": state}


def judged(*reports: dict[str, Any], changes: tuple[dict[str, Any], ...] = ()) -> Judgement:
    return judge(PLANTED, named_by(reports, changes))


def test_a_report_and_an_improvement_name_what_was_planted() -> None:
    judgement = judged(
        report("ab"),
        changes=(
            change("cd", "improvement"),
            change("cd", "improvement", -0.03),
            change("ab", "regression", 0.021),
        ),
    )

    assert (judgement.recall, judgement.precision) == ((2, 2), (2, 2))
    assert [each.minutes for each in judgement.found] == [6.0, 4.0]
    assert judgement.found[1].named[0].size == -0.03
    assert (judgement.wrong, judgement.faults) == ((), ())


def test_a_range_and_another_commit_are_not_the_planted_commit() -> None:
    judgement = judged(report("ac"), report("bc"), changes=(change("cd", "improvement", state="superseded"),))

    assert (judgement.recall, judgement.precision) == ((0, 2), (0, 2))
    assert [each.head[0] for each in judgement.wrong] == ["c", "c"]


def test_an_improvement_beside_a_report_of_the_same_commit_counts_once() -> None:
    judgement = judged(report("ab"), changes=(change("ab", "improvement"),))

    assert judgement.precision == (1, 1)


@pytest.mark.parametrize(
    ("reports", "fault"),
    [
        ((report("ab"), report("ab", minutes=9)), "2 reports of bbbbbbbbbbbb"),
        ((report("ab", changes=0),), "an empty report of bbbbbbbbbbbb"),
    ],
)
def test_faults_of_reports_are_said(reports: tuple[dict[str, Any], ...], fault: str) -> None:
    assert judged(*reports).faults == (fault,)


def test_the_table_says_what_was_missed_and_what_was_not_planted() -> None:
    said = table(judged(report("ab"), report("bc")), {"b" * 40: "+2.10 % bench", "d" * 40: "+0.01% bench"})

    assert said.splitlines() == [
        "| planted | commit | largest change | named as | minutes |",
        "|---|---|---|---|---|",
        "| slower.patch | bbbbbbbbbbbb | +2.10 % bench | regression (3) | 6.0 |",
        "| faster.patch | dddddddddddd | +0.01% bench | MISSED |  |",
        "| not planted | bbbbbbbbbbbb..cccccccccccc | +2.10% | regression (3) | |",
        "",
        "recall 1 of 2, precision 1 of 2; minutes to the report: median 6.0, longest 6.0",
    ]


def test_pushes_go_on_where_they_were_stopped(tmp_path: Path) -> None:
    work = toy_repository(tmp_path)
    base = git(work, "rev-parse", "HEAD")
    for number in range(9):
        git(work, "commit", "--quiet", "--allow-empty", "--message", f"Change {number}")
    source, served = tmp_path / "linux.git", tmp_path / "served/linux.git"
    git(work, "clone", "--quiet", "--bare", str(work), str(source))
    tip = git(work, "rev-parse", "HEAD")
    tips = drawn_tips(source, base, tip, 3)

    assert tips == drawn_tips(source, base, tip, 3)
    assert tips[-1] == tip
    first = Pushes(source, served, tmp_path / "pushes.json")
    first.begin(base)
    first.push(tips[0])
    git(served, "update-ref", f"refs/heads/{BRANCH}", base)  # as if it had been stopped before the push
    again = Pushes(source, served, tmp_path / "pushes.json")
    again.begin(base)
    assert git(served, "rev-parse", BRANCH) == tips[0]
    for each in tips[len(again.made) :]:
        again.push(each)
    assert git(served, "rev-parse", BRANCH) == tip
    commits = git(source, "rev-list", f"{base}..{tip}").split()
    assert sorted(commits) == sorted(commit for push in again.made for commit in push.commits)
    assert again.time_of(base) is None
    assert again.time_of(tip) is not None
