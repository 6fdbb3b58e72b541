"""Mailing list series, as kernel-patches mirrors them to GitHub, and the measured commits of a branch.

The kernel-patches daemon creates a branch `series/ID=>TARGET` for each series in patchwork. It pushes new
versions of a series to the same branch. Its pull request goes to `TARGET_base`: upstream with a commit of CI
files on top. The body of the pull request has the version of the series. A comment after each push has the
upstream commit.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

CI_FOLDERS = (".github/", "ci/")
"""Folders that the daemon adds to upstream. A commit that touches only these is not part of a series."""

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
    """The branch of a series."""

    series: int
    """Patchwork's number of the first version of the series."""
    target: str
    """The upstream branch."""

    @property
    def base_branch(self) -> str:
        """The base branch of the pull request: upstream with the CI files."""
        return f"{self.target}_base"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRecord:
    """Facts on a series from the body or a comment of a pull request.

    Untrusted: anybody may have written them.

    A missing or malformed fact is None.
    """

    subject: str | None = None
    version: int | None = None
    url: str | None = None
    """Patchwork's page of this version."""
    series: int | None = None
    """Patchwork's number of this version."""
    upstream: str | None = None
    """Full hash of the upstream commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCommit:
    """A commit with the files that it touches."""

    commit: str
    parents: tuple[str, ...]
    paths: tuple[str, ...]
    """Files that differ from the first parent; empty for a merge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRange:
    """The measured range of a branch."""

    base: str
    head: str
    commits: tuple[str, ...]
    """The commits in the range that touch more than CI files, oldest first."""
    paths: tuple[str, ...] = ()
    """The files that differ; empty if they are not known."""


def read_series_branch(name: str) -> SeriesBranch | None:
    """Parses the name of a series branch; None for any other branch."""
    match = _BRANCH.fullmatch(name)
    return SeriesBranch(series=int(match["id"]), target=match["target"]) if match else None


def read_series_record(text: str) -> SeriesRecord:
    """Reads the body or a comment of a pull request. If a key occurs twice, the last value wins."""
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
    """Reads the version from the brackets of a subject: `[PATCH bpf-next v3 0/5]`, `[bpf-next,v3,0/5]`.

    Default: 1.
    """
    match = _BRACKETS.match(subject.strip())
    version = _VERSION.search(match["words"]) if match else None
    return int(version["number"]) if version else 1


def _series_number(url: str | None) -> int | None:
    """Reads patchwork's number of a series from the URL of its page."""
    try:
        query = parse_qs(urlsplit(url or "").query)
    except ValueError:
        return None
    numbers = [value for value in query.get("series", ()) if _SERIES_NUMBER.fullmatch(value)]
    return int(numbers[0]) if numbers else None


def touches_more_than_ci(paths: Iterable[str]) -> bool:
    """True unless a commit touches only CI files. Such a commit is not measured."""
    touched = tuple(paths)
    return not touched or any(not path.startswith(CI_FOLDERS) for path in touched)


def find_measured_range(
    commits: Mapping[str, BranchCommit], *, merge_base: str, head: str, recorded: str | None = None
) -> MeasuredRange:
    """Finds the measured range of a branch.

    Leaves out commits that touch only CI files, at both ends and below the base.

    `commits` holds the commits of the branch and some commits from the merge base down. A commit that it does
    not hold is measured. `recorded` is an upstream base from an untrusted record: it is used only if it is
    the merge base or below it in `commits`. If no commit is measured, base and head are the same commit.
    """
    base = (
        recorded if recorded is not None and recorded in _first_parents(commits, merge_base) else merge_base
    )
    base = _skip_ci_commits(commits, base)
    below = set(_first_parents(commits, base))
    between = [
        commit
        for commit in _first_parents(commits, head)
        if commit in commits and commit not in below and not _is_left_out(commits, commit)
    ]
    head = _skip_ci_commits(commits, head) if between else base
    return MeasuredRange(base=base, head=head, commits=tuple(reversed(between)))


def _skip_ci_commits(commits: Mapping[str, BranchCommit], commit: str) -> str:
    """Returns the commit, or its nearest first-parent ancestor that touches more than CI files."""
    while _is_left_out(commits, commit) and commits[commit].parents:
        commit = commits[commit].parents[0]
    return commit


def _is_left_out(commits: Mapping[str, BranchCommit], commit: str) -> bool:
    return (
        commit in commits
        and len(commits[commit].parents) <= 1
        and not touches_more_than_ci(commits[commit].paths)
    )


def _first_parents(commits: Mapping[str, BranchCommit], head: str) -> Sequence[str]:
    """Lists the commits from head along first parents. The last one may be missing from `commits`."""
    way = [head]
    while way[-1] in commits and commits[way[-1]].parents:
        way.append(commits[way[-1]].parents[0])
    return way
