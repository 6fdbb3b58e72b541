"""Which curves of a benchmark are shown one by one, and what is said of the others: reports, comments and
pages choose alike.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cliffwatch.counting import count_noun
from cliffwatch.formats.verdicts import Sweep

MOST = 8
"""Curves of a benchmark over one parameter that are shown one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCurves:
    """The curves of a benchmark over one parameter: those that are shown, the ones that head changes first,
    and the others.
    """

    shown: tuple[Sweep, ...]
    others: tuple[Sweep, ...]

    @property
    def all(self) -> tuple[Sweep, ...]:
        return (*self.shown, *self.others)

    @property
    def sentence(self) -> str:
        """How many others there are and what they are like; empty without any."""
        if not self.others:
            return ""
        kinds = [_kind(sweep) for sweep in self.others]
        more = "more " if self.shown else ""
        count = f"{count_noun(len(self.others), f'{more}curve')} over {self.others[0].parameter}"
        if len(set(kinds)) == 1:
            return f"{count} {_KINDS[kinds[0]]}"
        parts = [f"{kinds.count(kind)} {words}" for kind, words in enumerate(_KINDS) if kind in kinds]
        return f"{count}: {', '.join(parts)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepLine:
    """What a report says of a curve, or of all that it does not tell: `name` is the benchmark with what is
    fixed.
    """

    suite: str
    name: str
    words: str


_KINDS = (
    "that head surely changes",
    "with a breakpoint and no sure change of it",
    "without a breakpoint or a sure change of course",
    "not judged",
)
_CHANGED, _BROKEN, _QUIET, _NOT_JUDGED = range(4)


def chosen_curves(sweeps: Iterable[Sweep]) -> list[ChosenCurves]:
    """By suite, benchmark, metric and parameter, in the order in which these come. A curve that is the only
    one is shown whatever it shows.
    """
    groups: dict[tuple[str, str, str, str], list[Sweep]] = {}
    for sweep in sweeps:
        groups.setdefault((sweep.suite, sweep.benchmark, sweep.metric, sweep.parameter), []).append(sweep)
    return [_choose_curves(group) for group in groups.values()]


def _choose_curves(group: list[Sweep]) -> ChosenCurves:
    if len(group) == 1:
        return ChosenCurves(shown=tuple(group), others=())
    worth = sorted(
        (sweep for sweep in group if _kind(sweep) <= _BROKEN),
        key=lambda sweep: (_kind(sweep), sweep.base_breakpoint == sweep.head_breakpoint),
    )
    shown = {id(sweep) for sweep in worth[:MOST]}
    return ChosenCurves(
        shown=tuple(worth[:MOST]), others=tuple(sweep for sweep in group if id(sweep) not in shown)
    )


def _kind(sweep: Sweep) -> int:
    if sweep.differs:
        return _CHANGED
    if sweep.base_breakpoint or sweep.head_breakpoint:
        return _BROKEN
    return _NOT_JUDGED if sweep.differs is None else _QUIET


def sweep_lines(sweeps: Iterable[Sweep]) -> Iterator[SweepLine]:
    """A line a curve that is shown, and one for all others over the same parameter."""
    for chosen in chosen_curves(sweeps):
        for sweep in chosen.shown:
            yield SweepLine(suite=sweep.suite, name=curve_name(sweep), words=sweep.words)
        if chosen.others:
            first = chosen.others[0]
            yield SweepLine(suite=first.suite, name=first.benchmark, words=chosen.sentence)


def curve_name(sweep: Sweep) -> str:
    """`local-storage-cache-seq-get at producers=4`: the benchmark, with what is fixed where its curves differ
    in that.
    """
    return f"{sweep.benchmark} at {fixed_words(sweep.fixed)}" if sweep.fixed else sweep.benchmark


def fixed_words(fixed: Mapping[str, str | None]) -> str:
    """`producers=4, default consumers`: a parameter that the cases do not give is at the
    benchmark's default.
    """
    return ", ".join(
        f"default {name}" if value is None else f"{name}={value}" for name, value in fixed.items()
    )
