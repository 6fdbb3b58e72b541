"""What a build leaves for us: named files of limited size, copied out of its reach into an entry of the
cache.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from cliffwatch.failure import Failure, kernel_failed
from cliffwatch.formats.reading import Wrong, document_text, read_as
from cliffwatch.formats.values import Part
from cliffwatch_runner.build.cache.entries import new_entry
from cliffwatch_runner.build.cache.uses import Uses
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile, UntrustedFolder

MIB = 1 << 20

R = TypeVar("R", bound=Part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A file below the build's output folder, the name that its copy gets, and the most bytes that it may
    have.
    """

    path: str
    name: str
    bytes: int
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRecipe(Generic[R]):
    """What an entry of the cache is made of: the build's outputs, its log, and the record of that name and
    kind, which is read back.
    """

    outputs: tuple[Output, ...]
    record: str
    kind: type[R]

    def store(
        self, folder: Path, source: UntrustedFolder, log: Path, describe: Callable[[Path], R | Failure]
    ) -> Failure | None:
        """Makes the entry `folder` whole; a Failure names the output that is missing or unfit. `describe`
        makes the record from the copies.

        Raises OSError on a full disk.
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
        """The record of an entry, which is in use from now on; None where there is none that can be read."""
        if not uses.take(folder):
            return None
        try:
            content = (folder / self.record).read_bytes()
        except OSError:
            return None
        record = read_as(content, self.kind)
        return None if isinstance(record, Wrong) else record


def _copy(outputs: Sequence[Output], source: UntrustedFolder, to: Path) -> Failure | None:
    for output in outputs:
        unfit = source.copy(output.path, to / output.name, limit=output.bytes, mode=output.mode)
        if unfit is not None:
            return unfit_output(unfit)
    return None


def unfit_output(file: UnfitFile) -> Failure:
    """The failure of a build that ended well and left something else than the file that it makes."""
    return kernel_failed(
        f"it builds, but {file.name} in its output {file.reason}",
        "look at the rule that makes it in the tree's Makefiles",
    )


def save_failure_log(failure: Failure, log: Path, cache: Path, digest: str) -> None:
    """Keeps the log of a failed build, with the evidence that came from elsewhere."""
    text = log.read_text(errors="replace") if log.exists() else ""
    if failure.evidence not in text:
        text += failure.evidence
    saved = cache / "failures" / f"{digest}.log"
    saved.parent.mkdir(parents=True, exist_ok=True)
    saved.write_text(text)
