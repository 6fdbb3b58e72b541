"""Profiles of changed cases, as every report shows them: shares of functions, and processor counters."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cliffwatch.counting import count_noun

if TYPE_CHECKING:  # reports without a profile load nothing of it
    from cliffwatch.formats.code.profile import CaseProfile, CounterRecord, ProfileRecord
    from cliffwatch.samples import CaseKey

PROFILE_TITLE = "Profiles of the changes, by perf in boots of their own: shares of the time after the warm-up"
_MOST_FUNCTIONS = 6
_LEAST_SAMPLES = 20
_RATIOS = (
    ("instructions per cycle", "instructions", "cycles", 1.0, ""),
    ("branch misses", "branch-misses", "branches", 100.0, " %"),
    ("misses of the last-level cache", "LLC-load-misses", "LLC-loads", 100.0, " %"),
)


def profile_lines(record: "ProfileRecord", base: str, head: str) -> Iterator[str]:
    """Aligned columns for a terminal or a mail, for each case of two arms."""
    sides: dict[CaseKey, dict[str, CaseProfile]] = {}
    for each in record.cases:
        sides.setdefault(each.case, {})[each.arm] = each
    for case, of_arms in sides.items():
        if base in of_arms and head in of_arms:
            yield f"  {case}: {_how(of_arms[base], of_arms[head])}"
            yield from (f"    {line}" for line in _case(of_arms[base], of_arms[head]))
    if record.left_out:
        one, more = (
            "more case changed too and was not profiled",
            "more cases changed too and were not profiled",
        )
        yield f"  {count_noun(record.left_out, one, more)}: choose by --case"


def _how(base: "CaseProfile", head: "CaseProfile") -> str:
    samples = [sum(each.samples for each in side.functions) for side in (base, head)]
    event = base.event or head.event or "nothing"
    few = ", too few to compare" if min(samples) < _LEAST_SAMPLES else ""
    clock = ", since the guest has no counters" if event == "cpu-clock" else ""
    return f"{event} sampled{clock}, {samples[0]:,} and {samples[1]:,} samples{few}"


def _case(base: "CaseProfile", head: "CaseProfile") -> Iterator[str]:
    rows = _shares(base, head)
    room = max((len(name) for name, _, _ in rows), default=0)
    for name, old, new in rows:
        yield f"{name:<{room}}  {old:>7.2%}  {new:>7.2%}  {100 * (new - old):>+6.2f}".replace("%", " %")
    for where in ("guest", "host"):
        yield from _counters(where, getattr(base, where), getattr(head, where))
    for side in (base, head):
        yield from (f"{side.arm}: {problem}" for problem in side.problems)


def _shares(base: "CaseProfile", head: "CaseProfile") -> Sequence[tuple[str, float, float]]:
    """Functions with the largest change of their share first, then with the larger share."""
    old = {(each.name, each.object): each.share for each in base.functions}
    new = {(each.name, each.object): each.share for each in head.functions}
    rows = [
        (
            f"{name} ({place})" if place != "kernel" else name,
            old.get((name, place), 0.0),
            new.get((name, place), 0.0),
        )
        for name, place in dict.fromkeys((*old, *new))
    ]
    rows.sort(key=lambda row: (-abs(row[2] - row[1]), -max(row[1], row[2]), row[0]))
    return rows[:_MOST_FUNCTIONS]


def _counters(where: str, base: "Sequence[CounterRecord]", head: "Sequence[CounterRecord]") -> Iterator[str]:
    old, new = _values(base), _values(head)
    ratios = [line for ratio in _RATIOS if (line := _ratio(old, new, *ratio)) is not None]
    if ratios:
        yield f"{where}: {'; '.join(ratios)}"
    lacking = [each.event for each in base if each.value is None]
    if lacking:
        yield f"{where}: this machine does not count {', '.join(lacking)}"


def _values(counters: "Sequence[CounterRecord]") -> Mapping[str, float]:
    """By event, without the suffix that says where perf counted it (`:u`, `:G`)."""
    return {each.event.partition(":")[0]: each.value for each in counters if each.value is not None}


def _ratio(
    old: Mapping[str, float],
    new: Mapping[str, float],
    name: str,
    above: str,
    below: str,
    scale: float,
    unit: str,
) -> str | None:
    if not all(side.get(below) and above in side for side in (old, new)):
        return None
    first, second = (scale * side[above] / side[below] for side in (old, new))
    return f"{name} {first:.2f}{unit} -> {second:.2f}{unit}"
