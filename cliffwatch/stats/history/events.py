"""Steps made by the machine, not by a commit.

If many series of a host step together, or the anchor (one revision, measured again and again) steps, the host
changed. Then no commit is blamed, and the series begin a new epoch there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SHARE = 0.15
"""Share of a host's series that must step within `NEAR` of each other."""

FEWEST = 3
"""Fewest series of an event."""
NEAR = 2
"""Steps at most this far apart belong to one event."""

UNCERTAINTY = 5
"""Largest distance of a step from its event. Noise may locate a small step a few points off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineEvent:
    """An event of a host."""

    index: int
    """First point after the event."""
    series: tuple[str, ...]
    """Series that step there."""


def machine_events(steps: Mapping[str, Sequence[int]], *, measured: int) -> list[MachineEvent]:
    """Events of one host. All indexes refer to an order that the series share.

    - `steps`: indexes at which each series steps.
    - `measured`: number of series of the host.
    """
    located = sorted((index, name) for name, indexes in steps.items() for index in indexes)
    events: list[MachineEvent] = []
    least = max(FEWEST, SHARE * measured)
    for index in sorted({at for at, _ in located}):
        names = {name for at, name in located if abs(at - index) <= NEAR}
        if len(names) >= least:
            events.append(MachineEvent(index=index, series=tuple(sorted(names))))
    return _keep_strongest(events)


def unexplained_steps(
    steps: Mapping[str, Sequence[int]], events: Sequence[MachineEvent]
) -> dict[str, list[int]]:
    """The steps that no event explains: commits made them."""
    return {
        name: [index for index in indexes if all(abs(index - event.index) > UNCERTAINTY for event in events)]
        for name, indexes in steps.items()
    }


def _keep_strongest(events: list[MachineEvent]) -> list[MachineEvent]:
    """Of overlapping events, keeps the one with the most series.

    The distant ends of a chain of neighbours stay separate.
    """
    kept: list[MachineEvent] = []
    for event in sorted(events, key=lambda event: (-len(event.series), event.index)):
        if all(abs(event.index - other.index) > NEAR for other in kept):
            kept.append(event)
    return sorted(kept, key=lambda event: event.index)
