"""Determines what to remove from a host (files, folders, user) before anything is done."""

import os
import pwd
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner.host.journal import JOURNAL
from cliffwatch_runner.host.tuning_helper import INSTALLED
from cliffwatch_runner.worker.installation.changes import find_own_file
from cliffwatch_runner.worker.installation.files import CACHE, PATHS, RULE_BY_HAND, SPOOL, STATE, TOKEN, USER
from cliffwatch_runner.worker.installation.placing import (
    take_empty_folder_away,
    take_file_away,
    take_folder_away,
)

_FIRST_ORDINARY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What an uninstallation removes."""

    files: tuple[Path, ...]
    folders: tuple[Path, ...]
    user: bool
    """True to remove the worker's user."""

    kept: tuple[str, ...]
    """Sentences about what stays, and why."""

    @property
    def empty(self) -> bool:
        return not (self.files or self.folders or self.user)

    def make(self, root: Path) -> None:
        """Raises OSError. Nothing is in use: the services have ended."""
        for path in self.files:
            take_file_away(root, path)
        for path in self.folders:
            take_folder_away(root, path)
        take_empty_folder_away(root, TOKEN.parent)


def find_removal(root: Path, *, purge: bool) -> Removal:
    """Returns what to remove. Files that others wrote in place of ours stay."""
    found = {path: find_own_file(root, path) for path in PATHS}
    files = [path for path, file in found.items() if file is not None and not isinstance(file, Failure)]
    kept = [f"{file.message}." for file in found.values() if isinstance(file, Failure)]
    if INSTALLED in files and os.path.lexists(_below(root, RULE_BY_HAND)):
        files.remove(INSTALLED)
        kept.append(f"{INSTALLED} stays: {RULE_BY_HAND} lets another user start it.")
    folders = [path for path in (CACHE, *([STATE] if purge else [])) if os.path.lexists(_below(root, path))]
    user = _is_our_user() if root == Path("/") else False
    kept += _kept_folder(root, purge=purge, user=user)
    if os.path.lexists(_below(root, JOURNAL)):
        kept.append(
            f"{JOURNAL} stays: a killed run left this host tuned; `cliffwatch doctor --restore` undoes that."
        )
    return Removal(files=tuple(files), folders=tuple(folders), user=user and purge, kept=tuple(kept))


def _kept_folder(root: Path, *, purge: bool, user: bool) -> Iterator[str]:
    if purge:
        return
    if os.path.lexists(_below(root, STATE)):
        jobs = _find_undelivered(_below(root, SPOOL / "jobs"))
        waiting = f", {len(jobs)} of which the service may not have" if jobs else ""
        yield f"{STATE} stays, with the results of its jobs{waiting}; --purge removes it."
    if user:
        yield f"The user {USER} stays, as the owner of these files; --purge removes it."


def _find_undelivered(jobs: Path) -> Sequence[str]:
    with suppress(OSError), os.scandir(jobs) as entries:
        return [
            entry.name
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and not os.path.lexists(Path(entry.path, "delivered"))
        ]
    return ()


def _is_our_user() -> bool:
    """True if the installation created this user, rather than another one with its name."""
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        return False
    return entry.pw_dir == str(STATE) and 0 < entry.pw_uid < _FIRST_ORDINARY


def _below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")
