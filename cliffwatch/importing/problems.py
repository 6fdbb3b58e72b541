"""Converts the problems of an output to outcomes of cases, lost values and warnings about the file."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cliffwatch.catalogue.installed import suite_of
from cliffwatch.columns import BootsOfColumns, columns_of
from cliffwatch.counting import count_noun
from cliffwatch.parsers.readings import Lost, Problem
from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome

_MOST_WARNINGS = 5
_LONGEST_TEXT = 80
_LONGEST_REASON = 300


def add_suite(case: CaseKey) -> CaseKey:
    """Adds the catalogue's suite to a case if the output does not name it; `unknown` if there is none."""
    suite = case.suite or suite_of(case.benchmark) or "unknown"
    return case if suite == case.suite else case._replace(suite=suite)


def add_problems(arms: Mapping[str, Arm], problems: Sequence[Problem], label: str) -> dict[str, Arm]:
    """Adds the problems of an output to its arms. `label` is the file's name for people."""
    if not problems:
        return dict(arms)
    warnings = warnings_of(problems, label)
    return {
        name: _with_problems(arm, [*_lost_values(problems, name)], warnings) for name, arm in arms.items()
    }


def _lost_values(problems: Iterable[Problem], arm: str) -> Iterable[Lost]:
    for each in problems:
        if each.lost is not None and each.lost.arm == arm:
            why = each.lost.why or each.reason
            yield each.lost._replace(case=add_suite(each.lost.case), why=_one_line(why, _LONGEST_REASON))


def _with_problems(arm: Arm, lost: Sequence[Lost], warnings: tuple[str, ...]) -> Arm:
    own = _boots_by_case(arm.boots)
    # Of a case that has no other value the whole is lost.
    lost = [each if own[each.case] else each._replace(metric="") for each in lost]
    values: dict[tuple[CaseKey, str], tuple[str, ...]] = {}
    for each in lost:
        if each.metric:
            values[each.case, each.metric] = (*values.get((each.case, each.metric), ()), each.why)
    outcomes = [
        CaseOutcome(case=each.case, status=each.status, reason=each.why) for each in lost if not each.metric
    ]
    boots = _with_outcomes(arm.boots, outcomes) if outcomes else arm.boots
    return replace(arm, boots=boots, lost=values, warnings=(*arm.warnings, *warnings))


def _with_outcomes(boots: Sequence[Boot], outcomes: Sequence[CaseOutcome]) -> Sequence[Boot]:
    """Adds outcomes to boots, and boots for those that lost a case.

    The first boots, which measured the case, get the outcome ok. The next ones get the given outcomes.
    """
    measured = _boots_by_case(boots)
    failures = Counter(outcome.case for outcome in outcomes)
    count = max(len(boots), *(measured[case] + failures[case] for case in failures))
    ended: list[list[CaseOutcome]] = [[] for _ in range(count)]
    for case in failures:
        for place in range(measured[case]):
            ended[place].append(CaseOutcome(case=case, status="ok"))
    for outcome in outcomes:
        ended[measured[outcome.case]].append(outcome)
        measured[outcome.case] += 1
    if isinstance(boots, BootsOfColumns) and not boots.outcomes:
        return boots.followed_by_boots(count - len(boots), [tuple(each) for each in ended])
    last = max((boot.index for boot in boots), default=0)
    block = max((boot.block for boot in boots), default=0)
    more = [
        Boot(index=last + more, block=block + more, samples=()) for more in range(1, count - len(boots) + 1)
    ]
    return tuple(
        replace(boot, outcomes=(*boot.outcomes, *of_boot))
        for boot, of_boot in zip([*boots, *more], ended, strict=True)
    )


def _boots_by_case(boots: Sequence[Boot]) -> Counter[CaseKey]:
    """Counts the boots of each case.

    They are the first ones, since the n-th value belongs to the n-th boot.
    """
    columns, found = columns_of(boots), Counter[CaseKey]()
    for key, values in zip(columns.keys, np.diff(columns.starts).tolist(), strict=True):
        found[key.case] = max(found[key.case], values)
    return found


def warnings_of(problems: Iterable[Problem], label: str) -> tuple[str, ...]:
    """Returns a sentence for each kind of problem that belongs to no case, with its first line."""
    kinds: dict[str, list[Problem]] = {}
    for each in problems:
        if each.lost is None:
            kinds.setdefault(each.reason, []).append(each)
    sentences = [_sentence(each, label) for each in kinds.values()]
    left = len(sentences) - _MOST_WARNINGS
    if left > 0:
        more = (
            f"{label}: {count_noun(left, 'more kind')} of lines could not be read: cliffwatch parse shows"
            " them all."
        )
        return (*sentences[:_MOST_WARNINGS], _one_line(more, 400))
    return tuple(sentences)


def _sentence(problems: Sequence[Problem], label: str) -> str:
    first = problems[0]
    text = _one_line(first.text, _LONGEST_TEXT)
    where = f"line {first.line}" if first.line else "the whole"
    lines = sum(each.lines for each in problems)
    if lines > 1:
        where = f"{count_noun(lines, 'line')}, the first of them {first.line}"
    shown = f" ({text})" if text else ""
    return f"{_one_line(label, 200)}: {where}: {_one_line(first.reason, _LONGEST_REASON)}{shown}"


def _one_line(text: str, longest: int) -> str:
    """Makes foreign text fit into a sentence: one line, printable, and at most `longest` characters."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
