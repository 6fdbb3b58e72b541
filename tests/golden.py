"""Holds output against a file under tests/data/golden; `UPDATE_GOLDEN=1 pytest …` writes the files anew, to
be read.
"""

import difflib
import os
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "golden"


def assert_golden(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    wanted = path.read_text() if path.exists() else ""
    difference = "".join(
        difflib.unified_diff(wanted.splitlines(keepends=True), text.splitlines(keepends=True), name, "now")
    )
    assert not difference, f"\n{difference}"
