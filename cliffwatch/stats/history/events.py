"""Steps that the machine made, not a commit.

Many series of one host that step together, or the anchor (one revision, measured again and again)
stepping, are an event of the host: no commit is blamed, and the series begin a new epoch there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SHARE = 0.15
"""Of the series of a host, stepping within `NEAR` of each other."""

FEWEST = 3
NEAR = 2
"""Steps at most so far apart are of one event."""

UNCERTAINTY = 5
"""How far from an event a step may be placed and still be its: under noise a small step is located a few
points off.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineEvent:
    """At `index` (first point after it); `series` are those that step there, `control` whether the anchor
    does.
    """

    index: int
    series: tuple[str, ...]
    control: bool


def machine_events(
    steps: Mapping[str, Sequence[int]],
    *,
    measured: int,
    control: Sequence[int] = (),
    known: Sequence[int] = (),
) -> list[MachineEvent]:
    """Events of one host, from the indexes at which each series steps, on an order that all series share.

    `measured` is the number of series of the host, `control` the steps of the anchor, `known` the points
    at which the recorded environment changed (host kernel, microcode, BIOS): there, any step is the
    machine's.
    """
    located = sorted((index, name) for name, indexes in steps.items() for index in indexes)
    events: list[MachineEvent] = []
    least = max(FEWEST, SHARE * measured)
    for index in sorted({at for at, _ in located}):
        names = {name for at, name in located if abs(at - index) <= NEAR}
        steered = any(abs(at - index) <= NEAR for at in (*control, *known))
        if len(names) >= least or steered:
            events.append(MachineEvent(index=index, series=tuple(sorted(names)), control=steered))
    return _strongest(events)


def blamed(steps: Mapping[str, Sequence[int]], events: Sequence[MachineEvent]) -> dict[str, list[int]]:
    """What is left for commits: the steps that no event explains."""
    return {
        name: [index for index in indexes if all(abs(index - event.index) > UNCERTAINTY for event in events)]
        for name, indexes in steps.items()
    }


def _strongest(events: list[MachineEvent]) -> list[MachineEvent]:
    """Of events that overlap, the one with the most series; a chain of neighbours keeps its ends' reach."""
    kept: list[MachineEvent] = []
    for event in sorted(events, key=lambda event: (-event.control, -len(event.series), event.index)):
        if all(abs(event.index - other.index) > NEAR for other in kept):
            kept.append(event)
    return sorted(kept, key=lambda event: event.index)
