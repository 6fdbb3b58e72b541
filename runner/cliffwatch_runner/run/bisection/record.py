"""Records which commits cannot be measured, beside the bisection's runs, so that it can be resumed."""

from pathlib import Path
from typing import Final

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem
from cliffwatch_runner.results.files import write_document

FORMAT: Final = "cliffwatch-bisection-state"
FORMAT_VERSION: Final = 1


class SkippedCommits(Part, frozen=True, kw_only=True):
    """state.json of a bisection."""

    format: str
    version: int
    question: str
    """Digest of the request (`question_of`)."""

    skipped: dict[str, str]
    """Reason by commit."""


class BisectionRecord:
    """state.json in the folder of a bisection."""

    def __init__(self, folder: Path, document: SkippedCommits) -> None:
        self.folder = folder
        self._document = document

    @property
    def skipped(self) -> dict[str, str]:
        """Reason by commit."""
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
    """Opens the state of a bisection, or creates it.

    Fails if the folder belongs to another question. Raises OSError if the folder cannot be written.
    """
    path = folder / "state.json"
    if not path.exists():
        fresh = SkippedCommits(format=FORMAT, version=FORMAT_VERSION, question=question, skipped={})
        write_document(path, fresh)
        return BisectionRecord(folder, fresh)
    document = read_as(path.read_bytes(), SkippedCommits)
    if isinstance(document, Problem) or document.format != FORMAT or document.version != FORMAT_VERSION:
        return wrong_usage(
            f"{path} is not the state of a bisection", "name another folder with --out, or remove it"
        )
    if document.question != question:
        return wrong_usage(
            f"{folder} belongs to another bisection (other ends, cases, options or tree)",
            "name another folder with --out",
        )
    return BisectionRecord(folder, document)
