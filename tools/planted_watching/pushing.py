"""A branch that grows push by push, and a record of when each push was made."""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from cliffwatch_runner.source.git import git

BRANCH = "main"
MOST_COMMITS = 4
"""In a push; a commit is one of the branch's line, and a merge brings its side with it."""


@dataclass(frozen=True, slots=True)
class Push:
    """`commits` are all that the push brought, `at` is when it was made (ISO 8601)."""

    tip: str
    commits: tuple[str, ...]
    at: str


def drawn_tips(repository: Path, base: str, tip: str, seed: int) -> list[str]:
    """Where the branch stands after each push."""
    line = _revisions(repository, "--first-parent", "--reverse", f"{base}..{tip}")
    draw = random.Random(f"pushes {seed}")
    tips = []
    place = 0
    while place < len(line):
        place = min(len(line), place + draw.randint(1, MOST_COMMITS))
        tips.append(line[place - 1])
    return tips


class Pushes:
    """Pushes from a repository to another, and keeps the record in a file."""

    def __init__(self, source: Path, served: Path, record: Path) -> None:
        self._source, self._served, self._record = source, served, record
        self.made: list[Push] = []
        if record.exists():
            self.made = [
                Push(each["tip"], tuple(each["commits"]), each["at"])
                for each in json.loads(record.read_text())
            ]

    def begin(self, base: str) -> None:
        """Makes the served repository, whose branch stands at `base`; else repeats the last push, which may
        not have been made.
        """
        if self._served.exists():
            self._push(self.made[-1].tip if self.made else base)
            return
        self._served.parent.mkdir(parents=True, exist_ok=True)
        git(["init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(self._served)])
        (self._served / "objects/info/alternates").write_text(f"{self._source.resolve()}/objects\n")
        self._push(base)

    def push(self, tip: str) -> Push:
        commits = _revisions(self._served, tip, f"^{BRANCH}")
        push = Push(tip, tuple(commits), datetime.now(UTC).isoformat())
        self.made.append(push)
        self._record.write_text(json.dumps([asdict(each) for each in self.made], indent=1) + "\n")
        self._push(tip)
        return push

    def time_of(self, commit: str) -> datetime | None:
        """When a commit was pushed; None if it was not."""
        times = [each.at for each in self.made if commit in each.commits]
        return datetime.fromisoformat(times[0]) if times else None

    def _push(self, tip: str) -> None:
        """The served repository has the objects already, as alternates: a push moves the branch alone."""
        done = git(["update-ref", f"refs/heads/{BRANCH}", tip], git_dir=self._served)
        if not done.ok:
            raise SystemExit(f"git update-ref failed: {done.output[-2000:]}")


def parents_of(repository: Path, commits: Sequence[str]) -> dict[str, str]:
    """The first parent of each commit."""
    return {commit: _revisions(repository, "--max-count=1", f"{commit}^")[0] for commit in commits}


def _revisions(repository: Path, *words: str) -> list[str]:
    done = git(["rev-list", *words], git_dir=repository)
    if not done.ok:
        raise SystemExit(f"git rev-list failed: {done.output[-2000:]}")
    return done.output.split()
