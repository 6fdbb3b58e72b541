"""What a bisection writes down beside its runs, so that the same command goes on: which commits cannot be measured."""

from pathlib import Path
from typing import Final

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import Wrong, read_as
from cliffwatch.formats.values import Part
from cliffwatch_runner.results.files import write_document

FORMAT: Final = "cliffwatch-bisection-state"
FORMAT_VERSION: Final = 1


class SkippedCommits(Part, frozen=True, kw_only=True):
    """state.json of a bisection: the digest of what was asked, and of each commit that cannot be measured the reason."""

    format: str
    version: int
    question: str
    skipped: dict[str, str]


class BisectionRecord:
    """state.json in the folder of a bisection."""

    def __init__(self, folder: Path, document: SkippedCommits) -> None:
        self.folder = folder
        self._document = document

    @property
    def skipped(self) -> dict[str, str]:
        """The reason, by commit."""
        return dict(self._document.skipped)

    def skip(self, commit: str, reason: str) -> None:
        self._document = SkippedCommits(
            format=FORMAT,
            version=FORMAT_VERSION,
            question=self._document.question,
            skipped={**self._document.skipped, commit: reason},
        )
        write_document(self.folder / "state.json", self._document)


def open_record(folder: Path, question: str) -> BisectionRecord | Failure:
    """What is written down of this question; a failure where the folder belongs to another one. Raises OSError where it cannot be written."""
    path = folder / "state.json"
    if not path.exists():
        fresh = SkippedCommits(format=FORMAT, version=FORMAT_VERSION, question=question, skipped={})
        write_document(path, fresh)
        return BisectionRecord(folder, fresh)
    document = read_as(path.read_bytes(), SkippedCommits)
    if isinstance(document, Wrong) or document.format != FORMAT or document.version != FORMAT_VERSION:
        return wrong_usage(
            f"{path} is no state of a bisection", "name another folder with --out, or remove it"
        )
    if document.question != question:
        return wrong_usage(
            f"{folder} belongs to another bisection (other ends, cases, options or tree)",
            "name another folder with --out",
        )
    return BisectionRecord(folder, document)
