"""What the counting plugin is given in a guest's input, and what it leaves."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from cliffwatch_runner.guest.counting.plugin import COUNTS, PLUGIN, WINDOWS, Counting
from cliffwatch_runner.guest.files import open_regular

LARGEST_COUNTS_BYTES = 128 << 20
"""A boot of all suites writes some 60 MB."""
_PIECE = 1 << 20


def write_plugin_input(folder: Path, counting: Counting, windows: Sequence[tuple[int, int]]) -> None:
    """The plugin itself and, for each case in their order, the numbers of the readings between which it is
    measured.
    """
    shutil.copyfile(counting.plugin.path, folder / PLUGIN)
    (folder / WINDOWS).write_text("".join(f"{first} {last}\n" for first, last in windows))


def take_counts(monitor: Path, folder: Path) -> None:
    """Copies what the plugin wrote out of a folder that a guest which took its emulator over can write; none
    where there is none.

    Raises OSError where the host cannot write the copy.
    """
    with open_regular(monitor, COUNTS) as descriptor:
        if descriptor is None:
            return
        left = LARGEST_COUNTS_BYTES
        with (folder / COUNTS).open("xb") as copy:
            while left > 0 and (piece := os.read(descriptor, min(_PIECE, left))):
                copy.write(piece)
                left -= len(piece)
