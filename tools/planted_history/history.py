"""A history from a seed: the same tree, patches and seed make the same commits."""

import hashlib
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cliffwatch_runner.source.git import git
from planted_history.edits import Edit, Kind, Mix, drawn_edits, taken_back

_BEGIN = 1767225600
"""2026-01-01: when the first commit is made; each further one an hour later."""

_LONGEST_SIDE = 6
_QUIET: tuple[Kind, ...] = ("text", "driver", "header", "comment")


@dataclass(frozen=True, slots=True)
class Made:
    """A commit of the history, what kind it is, and the name of its patch."""

    commit: str
    kind: Kind | Literal["merge"]
    subject: str
    patch: str
    inside_merge: bool


@dataclass(frozen=True, slots=True)
class History:
    """`base` is what all is built upon, `tip` the last commit."""

    base: str
    tip: str
    seed: int
    made: tuple[Made, ...]

    @property
    def planted(self) -> dict[str, str]:
        """The commit of each patch, by the patch's name."""
        return {each.patch: each.commit for each in self.made if each.kind == "planted"}


def make_history(repository: Path, base: str, patches: Sequence[Path], seed: int, mix: Mix) -> History:
    """Writes the commits into a bare repository that has `base`, and the branch `planted`."""
    draw = random.Random(f"{seed} {base}")
    edits = drawn_edits(mix, _files(repository, base), draw)
    order = _ordered(edits, [_planted(path) for path in sorted(patches)], draw)
    side = _side(order, draw)
    writer = _Writer(repository, base)
    with tempfile.TemporaryDirectory(prefix="planted-history-") as folder:
        made = writer.write(order, side, Path(folder))
    return _finished(repository, History(base=base, tip=writer.tip, seed=seed, made=tuple(made)))


def make_two_sides(repository: Path, base: str, patches: Sequence[Path], seed: int) -> History:
    """A merge with a patch on either side, among two commits that change no speed. Of the three patches, by
    name, the first is what both sides begin with, and the history's base; the second lies on the side of
    the first parent.
    """
    draw = random.Random(f"{seed} {base}")
    before, first, second = (_planted(path) for path in sorted(patches))
    quiet = drawn_edits(
        Mix(text=2, drivers=1, comments=1, breaks=0, reverted=0), _files(repository, base), draw
    )
    draw.shuffle(quiet)
    sides = [first, *quiet[:2]], [second, *quiet[2:]]
    for side in sides:
        draw.shuffle(side)
    writer = _Writer(repository, base)
    with tempfile.TemporaryDirectory(prefix="planted-history-") as folder:
        writer.write([before], range(0), Path(folder))
        fork = writer.tip
        made = writer.write(
            [*sides[0], *sides[1]], range(len(sides[0]), len(sides[0]) + len(sides[1])), Path(folder)
        )
    return _finished(repository, History(base=fork, tip=writer.tip, seed=seed, made=tuple(made)))


def _files(repository: Path, base: str) -> list[str]:
    return git(["ls-tree", "-r", "--name-only", base], git_dir=repository).output.splitlines()


def _planted(path: Path) -> Edit:
    return Edit(kind="planted", subject=_subject(path), patch=str(path))


def _finished(repository: Path, history: History) -> History:
    git(["update-ref", "refs/heads/planted", history.tip], git_dir=repository)
    git(["update-ref", "refs/heads/base", history.base], git_dir=repository)
    git(["symbolic-ref", "HEAD", "refs/heads/planted"], git_dir=repository)
    return history


def _subject(path: Path) -> str:
    lines = path.read_text().splitlines()
    named = [
        line.removeprefix("Subject:").replace("[PATCH]", "").strip()
        for line in lines
        if line.startswith("Subject:")
    ]
    return named[0] if named else path.stem


def _ordered(edits: Sequence[Edit], planted: Sequence[Edit], draw: random.Random) -> list[Edit]:
    """All of them shuffled, the planted ones among them; what is taken back stands a little before its fix or
    revert. No planted one stands where nothing builds, for no bisection could tell it from its neighbours.
    """
    order = [*edits, *planted]
    draw.shuffle(order)
    for edit in [each for each in order if each.kind == "reverted"]:
        place = order.index(edit) + 1 + draw.randint(0, 8)
        order.insert(min(place, len(order)), Edit(kind="revert", subject="", path=edit.path))
    for edit in [each for each in order if each.kind == "breaks"]:
        place = order.index(edit) + 1
        if place < len(order) and order[place].kind in _QUIET:
            place += draw.randint(0, 1)
        order.insert(place, Edit(kind="fix", subject="", path=edit.path))
    return order


def _side(order: Sequence[Edit], draw: random.Random) -> range:
    """The places of the edits that are made on a branch and merged: one planted and what stands around it."""
    planted = [place for place, edit in enumerate(order) if edit.kind == "planted"]
    if len(planted) < 2:
        return range(0)
    place = draw.choice(planted)
    first = last = place
    for _ in range(draw.randint(1, _LONGEST_SIDE - 1)):
        if draw.random() < 0.5 and first and order[first - 1].kind in _QUIET:
            first -= 1
        elif last + 1 < len(order) and order[last + 1].kind in _QUIET:
            last += 1
    return range(first, last + 1)


@dataclass
class _Line:
    """A branch while it is written: its last commit, and the index that has its files."""

    tip: str
    index: Path
    edits: list[Edit] = field(default_factory=list)


class _Writer:
    def __init__(self, repository: Path, base: str) -> None:
        self._repository = repository
        self._number = 0
        self.tip = base
        self._before: dict[str, str] = {}

    def write(self, order: Sequence[Edit], side: range, folder: Path) -> list[Made]:
        """The commits in order; those of the side upon one of the commits that build, a few before, and
        merged after its last.
        """
        made: list[Made] = []
        main = _Line(self.tip, folder / "main")
        self._git(["read-tree", self.tip], main)
        builds = [self.tip]
        broken = False
        for place, edit in enumerate(order):
            if place in side:
                continue
            if side and place == side.stop:
                made += self._merged(order, side, main, builds, folder)
            made.append(self._commit(edit, main, inside=False))
            broken = edit.kind == "breaks" or (broken and edit.kind != "fix")
            if not broken:
                builds.append(main.tip)
        if side and side.stop >= len(order):
            made += self._merged(order, side, main, builds, folder)
        self.tip = main.tip
        return made

    def _merged(
        self, order: Sequence[Edit], side: range, main: _Line, builds: Sequence[str], folder: Path
    ) -> list[Made]:
        fork = builds[max(0, len(builds) - 1 - len(side))]
        branch = _Line(fork, folder / "side")
        self._git(["read-tree", fork], branch)
        made = [self._commit(order[place], branch, inside=True) for place in side]
        for place in side:
            self._apply(order[place], main)
        subject = "Merge branch 'side'"
        main.tip = self._written(subject, main, [main.tip, branch.tip])
        return [*made, Made(main.tip, "merge", subject, "", inside_merge=False)]

    def _commit(self, edit: Edit, line: _Line, *, inside: bool) -> Made:
        if edit.kind in ("breaks", "reverted"):
            self._before[edit.path] = self._text(edit.path, line)
            self._before[f"subject {edit.path}"] = edit.subject
        if edit.kind in ("fix", "revert"):
            of = Edit(kind=edit.kind, subject=self._before[f"subject {edit.path}"], path=edit.path)
            edit = taken_back(of, edit.kind, self._before[edit.path])
        self._apply(edit, line)
        line.tip = self._written(edit.subject, line, [line.tip])
        return Made(
            line.tip,
            edit.kind,
            edit.subject,
            Path(edit.patch).name if edit.patch else "",
            inside_merge=inside,
        )

    def _apply(self, edit: Edit, line: _Line) -> None:
        if edit.patch:
            self._git(["apply", "--cached", "--whitespace=nowarn", str(Path(edit.patch).resolve())], line)
            return
        assert edit.change is not None
        file = line.index.with_name("file")
        file.write_text(edit.change(self._text(edit.path, line)), encoding="utf-8", errors="surrogateescape")
        blob = self._git(["hash-object", "-w", "--no-filters", str(file)], line)
        self._git(["update-index", "--cacheinfo", f"100644,{blob},{edit.path}"], line)

    def _text(self, path: str, line: _Line) -> str:
        shown = git(
            ["cat-file", "blob", f":{path}"],
            git_dir=self._repository,
            env={"GIT_INDEX_FILE": str(line.index)},
        )
        assert shown.ok, shown.output
        return shown.output

    def _written(self, subject: str, line: _Line, parents: Sequence[str]) -> str:
        tree = self._git(["write-tree"], line)
        self._number += 1
        date = f"{_BEGIN + 3600 * self._number} +0000"
        words = [word for parent in parents for word in ("-p", parent)]
        env = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        made = git(["commit-tree", tree, *words, "-m", subject], git_dir=self._repository, env=env)
        assert made.ok, made.output
        return made.output.strip()

    def _git(self, words: Sequence[str], line: _Line) -> str:
        done = git(words, git_dir=self._repository, env={"GIT_INDEX_FILE": str(line.index)})
        if not done.ok:
            raise SystemExit(f"git {words[0]} failed: {done.output[-2000:]}")
        return done.output.strip()


def write_truth(history: History, path: Path) -> None:
    """What was planted where: for whoever checks a bisection, and not for the bisection."""
    document = {
        "seed": history.seed,
        "base": history.base,
        "tip": history.tip,
        "planted": history.planted,
        "commits": [
            {
                "commit": each.commit,
                "kind": each.kind,
                "subject": each.subject,
                "patch": each.patch,
                "inside_merge": each.inside_merge,
            }
            for each in history.made
        ],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


def digest_of(history: History) -> str:
    """Of all commits: equal for equal histories."""
    return hashlib.sha256(" ".join(each.commit for each in history.made).encode()).hexdigest()[:16]
