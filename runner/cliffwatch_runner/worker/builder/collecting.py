"""Copies a builder's results into the worker's spool, boot by boot.

The builder's folder is untrusted: only regular files are opened, through descriptors, and copies are limited
in size.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cliffwatch_runner.guest.files import entries_below, read_guest_file, take_guest_files
from cliffwatch_runner.results.files import write_json
from cliffwatch_runner.sandbox.untrusted_files import remove_tree

_MOST_ENTRIES = 1_000_000
_LARGEST_RECORD = 64 << 20


def collect(source: Path, target: Path, tree: str) -> None:
    """Copies the record, and each finished boot that is not copied yet. Raises OSError if the spool cannot be
    written.

    The builder knows the tree only by its local folder, so the record is changed to name `tree`, which was
    requested.
    """
    text = read_guest_file(source, "run.json", limit=_LARGEST_RECORD)
    if text is None:
        return
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(record, dict):
        return
    boots = _boots(source)
    target.mkdir(parents=True, exist_ok=True)
    for boot, names in boots.items():
        if f"{boot}/boot.json" in names and not (target / boot).exists():
            _take(source, target, boot, names)
    named = {**record, "tree": tree}
    if _record(target) != named:
        write_json(target / "run.json", named)


def _record(target: Path) -> Any:
    """Returns the record as collected before. A file that does not change is not sent again."""
    file = target / "run.json"
    return json.loads(file.read_text()) if file.exists() else None


def _boots(source: Path) -> Mapping[str, list[str]]:
    """Returns the files of each boot, by its folder ("boots/0001")."""
    boots: defaultdict[str, list[str]] = defaultdict(list)
    for entry in islice(entries_below(source), _MOST_ENTRIES):
        parts = entry.name.split("/") if entry is not None else []
        if entry is not None and len(parts) > 2 and parts[0] == "boots" and entry.name.isprintable():
            boots["/".join(parts[:2])].append(entry.name)
    return boots


def _take(source: Path, target: Path, boot: str, names: list[str]) -> None:
    """Copies a boot atomically."""
    coming = target / "coming"
    remove_tree(coming)
    take_guest_files(source, coming, names)
    (target / boot).parent.mkdir(exist_ok=True)
    (coming / boot).rename(target / boot)
    remove_tree(coming)
