"""Series of a mailing list as kernel-patches shows them on GitHub, and which commits of a branch count.

Its daemon makes a branch `series/ID=>TARGET` for each series that it finds in patchwork, pushes a new
version of a series to the branch of the first, and opens a pull request against `TARGET_base`: upstream
with a commit of CI files on top. The body of the pull request has the version; a comment after each push,
the upstream commit.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

CI_FOLDERS = (".github/", "ci/")
"""What the daemon adds to upstream; commits of nothing else are no part of a series."""

_BRANCH = re.compile(r"series/(?P<id>[0-9]{1,12})=>(?P<target>[A-Za-z0-9][\w./-]{0,99})", re.ASCII)
_LINE = re.compile(r"(?P<key>subject|version|url|series|(?:Upstream|Master) branch): *+(?P<value>.{1,1000})")
_BRACKETS = re.compile(r"\[(?P<words>[^\]]{1,200})\]")
_VERSION = re.compile(r"(?:^|[\s,])[vV](?P<number>[0-9]{1,3})(?:$|[\s,])")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_VERSION_NUMBER = re.compile(r"[0-9]{1,3}")
_SERIES_NUMBER = re.compile(r"[0-9]{1,12}")
_LONGEST = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesBranch:
    """A branch of a series: `series` is patchwork's number of its first version, `target` the upstream branch
    it is for.
    """

    series: int
    target: str

    @property
    def base_branch(self) -> str:
        """The branch with upstream and the CI files, against which the pull request is made."""
        return f"{self.target}_base"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRecord:
    """What a pull request's body or a comment records of a series. Whoever may write there may have written
    it.

    `upstream` is a whole commit; `url` and `series` are patchwork's page of this version and its number
    there.
    """

    subject: str | None = None
    version: int | None = None
    url: str | None = None
    series: int | None = None
    upstream: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCommit:
    """One commit with the files that it touches against its first parent; a merge touches none of its own."""

    commit: str
    parents: tuple[str, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingRange:
    """What of a branch is measured: `base` and `head`, and the commits between them that count, the oldest
    first. `paths` are the files that differ; empty if they are not known.
    """

    base: str
    head: str
    commits: tuple[str, ...]
    paths: tuple[str, ...] = ()


def read_series_branch(name: str) -> SeriesBranch | None:
    """The series that a branch's name says; None for any other branch."""
    match = _BRANCH.fullmatch(name)
    return SeriesBranch(series=int(match["id"]), target=match["target"]) if match else None


def read_series_record(text: str) -> SeriesRecord:
    """What the lines of a pull request's body or of a comment record; of a key that comes twice the last."""
    found = {}
    for line in text[:_LONGEST].splitlines():
        match = _LINE.fullmatch(line.strip())
        if match:
            found[match["key"]] = match["value"].strip()
    url = found.get("url", found.get("series"))
    upstream = found.get("Upstream branch", found.get("Master branch", ""))
    version = found.get("version", "")
    return SeriesRecord(
        subject=found.get("subject"),
        version=int(version) if _VERSION_NUMBER.fullmatch(version) else None,
        url=url,
        series=_series_number(url),
        upstream=upstream if _COMMIT.fullmatch(upstream) else None,
    )


def version_in_subject(subject: str) -> int:
    """The version that the brackets of a subject say, as `[PATCH bpf-next v3 0/5]` and `[bpf-next,v3,0/5]`;
    else 1.
    """
    match = _BRACKETS.match(subject.strip())
    version = _VERSION.search(match["words"]) if match else None
    return int(version["number"]) if version else 1


def _series_number(url: str | None) -> int | None:
    """Patchwork's number of a series, from the address of its page."""
    try:
        query = parse_qs(urlsplit(url or "").query)
    except ValueError:
        return None
    numbers = [value for value in query.get("series", ()) if _SERIES_NUMBER.fullmatch(value)]
    return int(numbers[0]) if numbers else None


def counts(paths: Iterable[str]) -> bool:
    """Whether a commit with these files is measured: not one that touches CI files and nothing else."""
    touched = tuple(paths)
    return not touched or any(not path.startswith(CI_FOLDERS) for path in touched)


def counting_range(
    commits: Mapping[str, BranchCommit], *, merge_base: str, head: str, recorded: str | None = None
) -> CountingRange:
    """What is measured of a branch: commits of CI files alone are left out at its end, at its beginning and
    below its base.

    `commits` holds those of the branch, and as many from the merge base down as are of interest; what it
    does not hold counts. `recorded` is the upstream base that somebody recorded: taken where it is the
    merge base or lies below it there. Base and head are the same commit where nothing counts.
    """
    base = (
        recorded if recorded is not None and recorded in _first_parents(commits, merge_base) else merge_base
    )
    base = _counting(commits, base)
    below = set(_first_parents(commits, base))
    between = [
        commit
        for commit in _first_parents(commits, head)
        if commit in commits and commit not in below and not _is_left_out(commits, commit)
    ]
    head = _counting(commits, head) if between else base
    return CountingRange(base=base, head=head, commits=tuple(reversed(between)))


def _counting(commits: Mapping[str, BranchCommit], commit: str) -> str:
    """The commit, or the next one below it that counts."""
    while _is_left_out(commits, commit) and commits[commit].parents:
        commit = commits[commit].parents[0]
    return commit


def _is_left_out(commits: Mapping[str, BranchCommit], commit: str) -> bool:
    return commit in commits and len(commits[commit].parents) <= 1 and not counts(commits[commit].paths)


def _first_parents(commits: Mapping[str, BranchCommit], head: str) -> Sequence[str]:
    """The commits from head along first parents, for as far as they are known, and the first that is not."""
    way = [head]
    while way[-1] in commits and commits[way[-1]].parents:
        way.append(commits[way[-1]].parents[0])
    return way
