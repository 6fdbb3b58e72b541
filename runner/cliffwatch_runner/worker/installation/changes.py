"""Determines what an installation changes on a host, file by file, before anything is written."""

import difflib
import errno
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner.worker.installation.files import PATHS, WantedFile, is_ours
from cliffwatch_runner.worker.installation.placing import FoundFile, put_file, read_file, take_file_away

ChangeState = Literal["new", "changed", "unchanged", "removed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The change of one file."""

    path: Path
    state: ChangeState
    wanted: WantedFile | None
    """None if the file is removed."""

    differences: tuple[str, ...] = ()
    """Lines for people."""

    def make(self, root: Path) -> None:
        """Raises OSError."""
        if self.wanted is None:
            take_file_away(root, self.path)
        elif self.state != "unchanged":
            put_file(root, self.path, self.wanted.content, self.wanted.mode)


def find_changes(root: Path, wanted: Sequence[WantedFile]) -> tuple[FileChange, ...] | tuple[Failure, ...]:
    """Returns a change for each file that is wanted or that an earlier installation wrote.

    Fails if one is not possible.
    """
    by_path = {file.path: file for file in wanted}
    changes: list[FileChange] = []
    failures: list[Failure] = []
    for path in PATHS:
        file = by_path.get(path)
        found = find_own_file(root, path)
        if isinstance(found, Failure):
            if file is not None:
                failures.append(found)
        elif file is not None:
            changes.append(_change(file, found))
        elif found is not None:
            changes.append(FileChange(path=path, state="removed", wanted=None))
    return tuple(failures) or tuple(changes)


def find_own_file(root: Path, path: Path) -> FoundFile | Failure | None:
    """Returns a file that an installation wrote; None if there is none.

    Fails if something else is in its place.
    """
    try:
        found = read_file(root, path)
    except OSError as error:
        return unusable_path(path, "it is a link" if error.errno == errno.ELOOP else str(error.strerror))
    if found is not None and not is_ours(path, found.content):
        return host_failed(
            f"{path} exists, but `cliffwatch host install` did not write it",
            f"look at it, and if this host can do without it: sudo mv {path} /root/",
        )
    return found


def unusable_path(path: Path, why: str) -> Failure:
    """Reports an obstacle in the place of a file."""
    return host_failed(
        f"{path} cannot be read or replaced: {why}",
        f"look at it (ls -ld {path}), fix it or move it away, and repeat the command",
    )


def _change(file: WantedFile, found: FoundFile | None) -> FileChange:
    if found is None:
        return FileChange(path=file.path, state="new", wanted=file)
    differences = [] if found.mode == file.mode else [f"mode {found.mode:04o}, now {file.mode:04o}"]
    if found.content != file.content:
        differences += _differences(file, found)
    state: ChangeState = "changed" if differences else "unchanged"
    return FileChange(path=file.path, state=state, wanted=file, differences=tuple(differences))


def _differences(file: WantedFile, found: FoundFile) -> list[str]:
    if file.kind != "text":
        return ["another token" if file.kind == "secret" else "another version"]
    old, new = (each.content.decode(errors="replace").splitlines() for each in (found, file))
    lines = difflib.unified_diff(old, new, n=0, lineterm="")
    return [line for line in list(lines)[2:] if not line.startswith("@@")]
