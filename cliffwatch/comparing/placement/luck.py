"""Notes on kernels and programs that were measured in one layout only."""

from collections.abc import Iterable

LUCK = "a change of a few per cent may come from where the linker put code, and not from what the code does"


def one_layout_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Returns those of a run's notes that caution about one layout."""
    return tuple(note for note in notes if note.endswith(LUCK))
