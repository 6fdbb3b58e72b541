"""Chooses the curves of a benchmark that are shown, and summarises the others.

All reports and pages use this choice.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cliffwatch.counting import count_noun
from cliffwatch.formats.verdicts import Sweep

MOST = 8
"""Most curves of a benchmark over one parameter that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCurves:
    """The curves of a benchmark over one parameter."""

    shown: tuple[Sweep, ...]
    """Curves that are shown, those that head changes first."""
    others: tuple[Sweep, ...]

    @property
    def all(self) -> tuple[Sweep, ...]:
        return (*self.shown, *self.others)

    @property
    def sentence(self) -> str:
        """Number and kinds of the other curves; empty without any."""
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
    """A report's line about a curve, or about all curves that are not shown."""

    suite: str
    name: str
    """The benchmark, with its fixed parameters."""
    words: str


_KINDS = (
    "that head surely changes",
    "with a breakpoint and no sure change of it",
    "without a breakpoint or a sure change of course",
    "not judged",
)
_CHANGED, _BROKEN, _QUIET, _NOT_JUDGED = range(4)


def chosen_curves(sweeps: Iterable[Sweep]) -> list[ChosenCurves]:
    """Groups curves by suite, benchmark, metric and parameter, in order of appearance.

    An only curve is always shown.
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
    """One line per shown curve, and one for all others over the same parameter."""
    for chosen in chosen_curves(sweeps):
        for sweep in chosen.shown:
            yield SweepLine(suite=sweep.suite, name=curve_name(sweep), words=sweep.words)
        if chosen.others:
            first = chosen.others[0]
            yield SweepLine(suite=first.suite, name=first.benchmark, words=chosen.sentence)


def curve_name(sweep: Sweep) -> str:
    """The benchmark with its fixed parameters: `local-storage-cache-seq-get at producers=4`."""
    return f"{sweep.benchmark} at {fixed_words(sweep.fixed)}" if sweep.fixed else sweep.benchmark


def fixed_words(fixed: Mapping[str, str | None]) -> str:
    """Fixed parameters as text: `producers=4, default consumers`.

    A parameter that the cases do not give has the benchmark's default.
    """
    return ", ".join(
        f"default {name}" if value is None else f"{name}={value}" for name, value in fixed.items()
    )
