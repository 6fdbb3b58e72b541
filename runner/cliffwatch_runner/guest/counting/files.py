"""Input and output files of the counting plugin."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from cliffwatch_runner.guest.argv import LARGEST_FILE_BYTES
from cliffwatch_runner.guest.counting.plugin import COUNTS, PLUGIN, WINDOWS, Counting
from cliffwatch_runner.guest.files import open_regular

LARGEST_COUNTS_BYTES = LARGEST_FILE_BYTES
"""A boot of all suites writes about 60 MB."""

_PIECE = 1 << 20


def write_plugin_input(folder: Path, counting: Counting, windows: Sequence[tuple[int, int]]) -> None:
    """Writes the plugin, and a file with the window of each case in order (numbers of its readings)."""
    shutil.copyfile(counting.plugin.path, folder / PLUGIN)
    (folder / WINDOWS).write_text("".join(f"{first} {last}\n" for first, last in windows))


def take_counts(monitor: Path, folder: Path) -> None:
    """Copies the plugin's counts, if there are any, out of the monitor folder.

    A guest that took over its emulator could write there, so the file is untrusted. Raises OSError if the
    host cannot write the copy.
    """
    with open_regular(monitor, COUNTS) as descriptor:
        if descriptor is None:
            return
        left = LARGEST_COUNTS_BYTES
        with (folder / COUNTS).open("xb") as copy:
            while left > 0 and (piece := os.read(descriptor, min(_PIECE, left))):
                copy.write(piece)
                left -= len(piece)
