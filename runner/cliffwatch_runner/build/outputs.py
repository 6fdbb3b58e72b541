"""Copies the outputs of a build into a cache entry, out of the build's reach.

Outputs are named files of limited size.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from cliffwatch.failure import Failure, kernel_failed
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem
from cliffwatch_runner.build.cache.entries import new_entry
from cliffwatch_runner.build.cache.uses import Uses
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile, UntrustedFolder

MIB = 1 << 20

R = TypeVar("R", bound=Part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One file that a build must produce."""

    path: str
    """Below the build's output folder."""
    name: str
    """Name of the copy in the entry."""
    bytes: int
    """Largest accepted size."""
    mode: int = 0o644
    """Permissions of the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRecipe(Generic[R]):
    """Contents of one kind of cache entry: the build's outputs, its log and a record."""

    outputs: tuple[Output, ...]
    record: str
    """File name of the record."""
    kind: type[R]
    """Type of the record."""

    def store(
        self, folder: Path, source: UntrustedFolder, log: Path, describe: Callable[[Path], R | Failure]
    ) -> Failure | None:
        """Creates the entry `folder` atomically. `describe` makes the record from the copied outputs.

        Returns a Failure if an output is missing or unfit. Raises OSError on a full disk.
        """
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".taken-", dir=folder.parent) as temporary:
            copies = Path(temporary)
            failure = _copy(self.outputs, source, copies)
            if failure is not None:
                return failure
            record = describe(copies)
            if isinstance(record, Failure):
                return record
            with new_entry(folder) as entry:
                for output in self.outputs:
                    (copies / output.name).replace(entry / output.name)
                shutil.copyfile(log, entry / "build.log")
                (entry / self.record).write_bytes(document_text(record))
        return None

    def read(self, folder: Path, uses: Uses) -> R | None:
        """Returns the record of an entry and marks the entry as in use.

        Returns None if there is no readable record.
        """
        if not uses.take(folder):
            return None
        try:
            content = (folder / self.record).read_bytes()
        except OSError:
            return None
        record = read_as(content, self.kind)
        return None if isinstance(record, Problem) else record


def _copy(outputs: Sequence[Output], source: UntrustedFolder, to: Path) -> Failure | None:
    for output in outputs:
        unfit = source.copy(output.path, to / output.name, limit=output.bytes, mode=output.mode)
        if unfit is not None:
            return unfit_output(unfit)
    return None


def unfit_output(file: UnfitFile) -> Failure:
    """Returns the failure of a build that succeeded but did not produce a usable output file."""
    return kernel_failed(
        f"it builds, but {file.name} in its output {file.reason}",
        "look at the rule that makes it in the tree's Makefiles",
    )


def save_failure_log(failure: Failure, log: Path, cache: Path, digest: str) -> None:
    """Keeps the log of a failed build. Evidence that is not in the log is appended."""
    text = log.read_text(errors="replace") if log.exists() else ""
    if failure.evidence not in text:
        text += failure.evidence
    saved = cache / "failures" / f"{digest}.log"
    saved.parent.mkdir(parents=True, exist_ok=True)
    saved.write_text(text)
