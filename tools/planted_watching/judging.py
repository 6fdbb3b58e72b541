"""Which planted commits the service named, and which others."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A range that a report, or confirmed improvements, blame."""

    kind: Literal["regression", "improvement"]
    base: str
    head: str
    found: datetime
    size: float | None
    """The largest change, a fraction of the old value; None if no change has one."""
    cases: int
    """Changes of series; 0 for an empty report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A planted commit. `pushed`: when it reached the branch."""

    patch: str
    commit: str
    parent: str
    pushed: datetime


@dataclass(frozen=True, slots=True)
class Found:
    """A planted commit, and what names it: nothing if it was missed."""

    planted: Planted
    named: tuple[Named, ...]

    @property
    def minutes(self) -> float | None:
        """From the push to the first report."""
        if not self.named:
            return None
        return (min(each.found for each in self.named) - self.planted.pushed).total_seconds() / 60


@dataclass(frozen=True, slots=True)
class Judgement:
    found: tuple[Found, ...]
    """Every planted commit, in the order of the history."""
    wrong: tuple[Named, ...]
    """What names another commit, or a range of several."""
    faults: tuple[str, ...]
    """Reports without a change, and reports of one commit in several."""

    @property
    def recall(self) -> tuple[int, int]:
        return sum(bool(each.named) for each in self.found), len(self.found)

    @property
    def precision(self) -> tuple[int, int]:
        right = sum(len(each.named) for each in self.found)
        return right, right + len(self.wrong)


def named_by(reports: Sequence[Mapping[str, Any]], changes: Sequence[Mapping[str, Any]]) -> list[Named]:
    """Reads reports and changes as the API returns them. Improvements have no report: those of one range
    count as one.
    """
    worse = [
        Named(
            kind="regression",
            base=report["base"],
            head=report["head"],
            found=datetime.fromisoformat(report["opened"]),
            size=report["largest"],
            cases=report["changes"],
        )
        for report in reports
    ]
    better: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for change in changes:
        if change["kind"] == "improvement" and change["state"] == "confirmed":
            better.setdefault((change["base"], change["head"]), []).append(change)
    blamed = {(each.base, each.head) for each in worse}
    return worse + [
        Named(
            kind="improvement",
            base=base,
            head=head,
            found=min(datetime.fromisoformat(change["found"]) for change in own),
            size=max((change["size"] for change in own if change["size"] is not None), key=abs, default=None),
            cases=len(own),
        )
        for (base, head), own in better.items()
        if (base, head) not in blamed
    ]


def judge(planted: Sequence[Planted], named: Sequence[Named]) -> Judgement:
    """A planted commit is found if its own range, from its parent, is named."""
    own = {(each.parent, each.commit) for each in planted}
    found = [
        Found(each, tuple(one for one in named if (one.base, one.head) == (each.parent, each.commit)))
        for each in planted
    ]
    reports = Counter((each.base, each.head) for each in named if each.kind == "regression")
    faults = [f"{count} reports of {head[:12]}" for (_, head), count in reports.items() if count > 1]
    faults += [f"an empty report of {each.head[:12]}" for each in named if not each.cases]
    wrong = tuple(each for each in named if (each.base, each.head) not in own)
    return Judgement(tuple(found), wrong, tuple(faults))


def table(judgement: Judgement, measured: Mapping[str, str]) -> str:
    """The result as a table in Markdown. `measured`: the largest measured change of each planted commit."""
    lines = ["| planted | commit | largest change | named as | minutes |", "|---|---|---|---|---|"]
    for each in judgement.found:
        named = ", ".join(f"{one.kind} ({one.cases})" for one in each.named) or "MISSED"
        minutes = "" if each.minutes is None else f"{each.minutes:.1f}"
        commit = each.planted.commit
        lines.append(
            f"| {each.planted.patch} | {commit[:12]} | {measured.get(commit, '')} | {named} | {minutes} |"
        )
    lines += [
        f"| not planted | {each.base[:12]}..{each.head[:12]} | {_percent(each.size)} | {each.kind}"
        f" ({each.cases}) | |"
        for each in judgement.wrong
    ]
    times = sorted(each.minutes for each in judgement.found if each.minutes is not None)
    lines += ["", "recall {} of {}, precision {} of {}".format(*judgement.recall, *judgement.precision)]
    if times:
        middle = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
        lines[-1] += f"; minutes to the report: median {middle:.1f}, longest {times[-1]:.1f}"
    return "\n".join([*lines, *judgement.faults])


def _percent(size: float | None) -> str:
    return "" if size is None else f"{size:+.2%}"
