"""Takes what a builder has measured, boot by boot, into the worker's spool.

The builder's folder is somebody else's: nothing of it is opened but regular files, through descriptors, as bounded copies.
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
    """Copies the record and each boot that is done and not copied yet. Raises OSError where the spool cannot be written.

    The builder knows the tree by the folder in which it was fetched: the record names `tree`, which was asked for.
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
    """What was collected before; a file that nothing new was written to is not sent again."""
    file = target / "run.json"
    return json.loads(file.read_text()) if file.exists() else None


def _boots(source: Path) -> Mapping[str, list[str]]:
    """The files of each boot, by its folder ("boots/0001")."""
    boots: defaultdict[str, list[str]] = defaultdict(list)
    for entry in islice(entries_below(source), _MOST_ENTRIES):
        parts = entry.name.split("/") if entry is not None else []
        if entry is not None and len(parts) > 2 and parts[0] == "boots" and entry.name.isprintable():
            boots["/".join(parts[:2])].append(entry.name)
    return boots


def _take(source: Path, target: Path, boot: str, names: list[str]) -> None:
    """A boot is there whole or not at all."""
    coming = target / "coming"
    remove_tree(coming)
    take_guest_files(source, coming, names)
    (target / boot).parent.mkdir(exist_ok=True)
    (coming / boot).rename(target / boot)
    remove_tree(coming)
