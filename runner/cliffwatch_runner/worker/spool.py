"""Stores results on disk until the service has them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.formats.reading import read_as
from cliffwatch.formats.work import Leased, Work
from cliffwatch.parsers.readings import Problem
from cliffwatch_runner.results.files import write_document


@dataclass(frozen=True, slots=True)
class Spooled:
    """The folder of one job: its description, result directory, log, and a mark once it is delivered."""

    folder: Path

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def delivered(self) -> bool:
        return (self.folder / "delivered").exists()

    def job(self) -> Leased | None:
        """Returns the job that the results belong to; None if a crash left its description incomplete."""
        try:
            content = (self.folder / "job.json").read_bytes()
        except OSError:
            return None
        offer = read_as(content, Leased)
        return None if isinstance(offer, Problem) else offer

    def deliver(self) -> None:
        """Marks the job as delivered. The results stay until an operator removes them."""
        (self.folder / "delivered").touch()

    def put_aside(self, why: str) -> Path:
        """Renames results that cannot be handled and stores the reason beside them.

        If the job comes again, it starts anew.
        """
        number = 1
        while (aside := self.folder / f"results.aside-{number}").exists():
            number += 1
        if self.results.exists():
            self.results.rename(aside)
        aside.with_name(f"{aside.name}.why").write_text(why)
        return aside


class Spool:
    """All jobs of a host, one folder each. Raises OSError on a full disk; existing files stay."""

    def __init__(self, home: Path) -> None:
        self._home = home
        home.mkdir(parents=True, exist_ok=True)

    def begin(self, job: Work) -> Spooled:
        """Returns the folder of a job. A job with an old folder resumes there."""
        folder = self._home / _check_job_name(job.job)
        write_document(folder / "job.json", job)
        (folder / "delivered").unlink(missing_ok=True)
        return Spooled(folder)

    def waiting(self) -> Iterator[Spooled]:
        """Yields jobs that may not be completely delivered, oldest first."""
        folders = [entry.path for entry in os.scandir(self._home) if entry.is_dir()]
        for folder in sorted(folders, key=lambda path: Path(path).stat().st_mtime):
            spooled = Spooled(Path(folder))
            if not spooled.delivered and (spooled.results / "run.json").exists():
                yield spooled


def _check_job_name(name: str) -> str:
    """Checks a job's name, which comes from the service: it must not lead out of the spool."""
    if not name or not all(letter.isalnum() or letter == "-" for letter in name):
        raise ValueError(f"{name!r} is not a job")
    return name
