"""Runs git for the service; no other module does.

Reads commits only: no work tree, no hooks, no submodules.
"""

import os
import subprocess
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.trees.addresses import PORTS, read_address, without_credentials
from cliffwatch.trees.git_command import git_argv, isolated_environment, strict_settings
from cliffwatch_service.ingest.free_form import plain_text, plausible_date
from cliffwatch_service.store.trees import RevisionFacts

DEPTH = 500
"""Commits of a branch that are fetched at first."""

_SECONDS = 600.0
"""Timeout of one git command."""

_UNREACHED = "check that the service reaches the tree; it is read again at the next poll"

_FORMAT = "%H%x00%T%x00%P%x00%an%x00%aI%x00%cI%x00%s"


def branch_head(url: str, branch: str) -> str | Failure:
    """Returns the commit at the head of a branch of a remote tree."""
    listed = _call_remote(url, ["ls-remote"], f"refs/heads/{branch}")
    if isinstance(listed, Failure):
        return listed
    commit = listed.partition("\t")[0].strip()
    return commit or wrong_usage(f"the tree has no branch {branch}", "follow another branch")


def tags_of(url: str) -> dict[str, str] | Failure:
    """Returns the commits of a remote tree's tags, by tag."""
    listed = _call_remote(url, ["ls-remote", "--tags"])
    if isinstance(listed, Failure):
        return listed
    tags = {}
    for line in listed.splitlines():
        commit, _, ref = line.partition("\t")
        # An annotated tag is listed twice: as a tag object, then with ^{} as the commit that it names.
        tags[ref.removeprefix("refs/tags/").removesuffix("^{}")] = commit
    return tags


def fetch_commits(mirror: Path, url: str, branch: str, *, known: str | None) -> Failure | None:
    """Fetches a branch's newest commits without their trees; more if `known` is not among them."""
    if not (mirror / "HEAD").exists():
        made = _git(["init", "--quiet", "--bare", str(mirror)])
        if isinstance(made, Failure):
            return made
    into = f"+refs/heads/{branch}:refs/heads/{branch}"
    for depth in (DEPTH, 10 * DEPTH):
        how = ["fetch", "--quiet", "--no-tags", f"--depth={depth}", "--filter=tree:0"]
        fetched = _call_remote(url, how, into, mirror=mirror)
        if isinstance(fetched, Failure):
            return fetched
        if known is None or not isinstance(
            _git(["merge-base", "--is-ancestor", known, f"refs/heads/{branch}"], mirror=mirror), Failure
        ):
            break
    return None


def missing_commit(folder: Path, url: str, commit: str) -> Failure | None:
    """Returns why a commit cannot be fetched from a remote tree; None if it can be.

    Fetches into a separate repository, `folder`, because a fetch of depth 1 truncates its history.
    """
    if not (folder / "HEAD").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = _git(["init", "--quiet", "--bare", str(folder)])
        if isinstance(made, Failure):
            return made
    how = ["fetch", "--quiet", "--no-tags", "--depth=1", "--filter=tree:0"]
    fetched = _call_remote(url, how, commit, mirror=folder)
    return fetched if isinstance(fetched, Failure) else None


def first_parents(mirror: Path, branch: str) -> list[RevisionFacts]:
    """Returns the fetched commits of a branch in first-parent order, oldest first."""
    shown = _git(
        [
            "log",
            "--first-parent",
            "--reverse",
            f"--max-count={10 * DEPTH}",
            f"--format={_FORMAT}",
            f"refs/heads/{branch}",
            "--",
        ],
        mirror=mirror,
    )
    if isinstance(shown, Failure):
        return []
    return [_facts(line.split("\0")) for line in shown.split("\n") if line.count("\0") == 6]


_DEEPER = (DEPTH, 10 * DEPTH, 100 * DEPTH)
"""Commits by which the mirror is deepened, one attempt after another."""


def commit_graph(mirror: Path, url: str, branch: str, base: str, head: str) -> list[RevisionFacts] | Failure:
    """Returns the commits between two revisions of a branch, newest first.

    They include base, all commits that merges brought in, and the commit where all these lines meet. If the
    mirror does not reach that far, fetches more of the branch, still without trees.
    """
    for more in (0, *_DEEPER):
        if more:
            into = f"+refs/heads/{branch}:refs/heads/{branch}"
            how = ["fetch", "--quiet", "--no-tags", f"--deepen={more}", "--filter=tree:0"]
            fetched = _call_remote(url, how, into, mirror=mirror)
            if isinstance(fetched, Failure):
                return fetched
        meeting = _meeting(mirror, base, head)
        if meeting is not None:
            return _between(mirror, meeting, head)
    return host_failed(
        f"the history between {base[:12]} and {head[:12]} could not be fetched far enough",
        "choose revisions that are closer together",
    )


def _meeting(mirror: Path, base: str, head: str) -> str | None:
    """Returns the commit where base and all lines merged up to head meet.

    None if the mirror's history ends before it.
    """
    listed = _git(["rev-list", "--boundary", f"{base}..{head}", "--"], mirror=mirror)
    if isinstance(listed, Failure):
        return None
    edges = [line.removeprefix("-") for line in listed.split() if line.startswith("-")]
    cut = mirror / "shallow"
    if cut.exists() and {line.removeprefix("-") for line in listed.split()} & set(cut.read_text().split()):
        return None
    meeting = _git(["merge-base", "--octopus", base, *edges], mirror=mirror)
    return None if isinstance(meeting, Failure) else meeting.strip() or None


def _between(mirror: Path, meeting: str, head: str) -> list[RevisionFacts] | Failure:
    shown = _git(["log", "--topo-order", f"--format={_FORMAT}", head, f"^{meeting}", "--"], mirror=mirror)
    first = _git(["log", "--max-count=1", f"--format={_FORMAT}", meeting, "--"], mirror=mirror)
    for each in (shown, first):
        if isinstance(each, Failure):
            return each
    return [_facts(line.split("\0")) for line in f"{shown}\n{first}".split("\n") if line.count("\0") == 6]


def _facts(parts: Sequence[str]) -> RevisionFacts:
    commit, tree, parents, author, authored, committed, subject = parts
    return RevisionFacts(
        commit=commit,
        tree_hash=tree,
        parents=parents.split(),
        author=plain_text(author[:200]),
        authored=_date(authored),
        committed=_date(committed),
        subject=plain_text(subject[:500]),
    )


def _date(written: str) -> datetime | None:
    """Parses a date of a commit. None if it is implausible: a commit may claim any date."""
    try:
        return plausible_date(datetime.fromisoformat(written))
    except ValueError:
        return None


def _call_remote(url: str, how: Sequence[str], *what: str, mirror: Path | None = None) -> str | Failure:
    """Calls git on a tree that an administrator named.

    The tree may be on any server. Git gets no key and no credentials, and follows no redirect.
    """
    address = read_address(url)
    if isinstance(address, Failure):
        return wrong_usage(f"the tree cannot be followed: {address.message}", address.next_step)
    return _git([*how, "--", address.url, *what], mirror=mirror, protocols=PORTS)


def _git(
    arguments: Sequence[str], *, mirror: Path | None = None, protocols: Collection[str] = ()
) -> str | Failure:
    argv = git_argv(arguments, mirror, strict_settings())
    env = {"PATH": os.environ.get("PATH", os.defpath), **isolated_environment(protocols)}
    try:
        done = subprocess.run(argv, capture_output=True, env=env, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return host_failed(f"git {arguments[0]} took longer than {_SECONDS:.0f} s", _UNREACHED)
    except OSError as error:
        return host_failed(f"git cannot be started ({error.strerror})", "install git where the service runs")
    if done.returncode != 0:
        message = without_credentials(done.stderr.decode(errors="replace").strip())
        return host_failed(message[-500:] or f"git {arguments[0]} failed", _UNREACHED)
    return done.stdout.decode(errors="replace")
