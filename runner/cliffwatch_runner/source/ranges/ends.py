"""Resolves base and head as people name them: by ranges, commits and branches.

A branch named as base stands for its merge base with head.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.source.access import plan_fetch
from cliffwatch_runner.source.git import git
from cliffwatch_runner.source.named_repository import read_repository
from cliffwatch_runner.source.ranges.history import Divergence, find_divergence
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.tree import Tree

_RANGE = re.compile(r"(?P<base>.*?)(?<!\.)(?P<dots>\.\.\.?)(?P<head>(?!\.).*)")
_HASH = re.compile(r"[0-9a-f]{40}")
_BRANCHES = ("refs/heads/", "refs/remotes/")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEnds:
    """Base and head by name."""

    base: str | None
    head: str | None
    parts_at_merge_base: bool = False
    """True if the dots of `A...B` asked for the merge base, whatever A is."""


def read_ends(base: str | None, head: str | None) -> NamedEnds | Failure:
    """Reads base and head, one of which may be a range that names both: `A..B` or `A...B`.

    An empty side means HEAD.
    """
    ranges = [
        (option, name) for option, name in (("--base", base), ("--head", head)) if name and ".." in name
    ]
    if not ranges:
        return NamedEnds(base=base, head=head)
    option, name = ranges[0]
    match = _RANGE.fullmatch(name)
    if match is None or ".." in match["head"] or name.strip(".") == "":
        return wrong_usage(f"{option} {name}: that is no range", "write A..B, or name --base A and --head B")
    if base is not None and head is not None:
        other = "--head" if option == "--base" else "--base"
        return wrong_usage(f"{option} {name} is a range, which names base and head", f"leave out {other}")
    return NamedEnds(
        base=match["base"] or "HEAD", head=match["head"] or "HEAD", parts_at_merge_base=match["dots"] == "..."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBase:
    """The commit that head is compared with."""

    commit: str
    sentence: str
    """Says which commit was chosen; empty if the names are clear enough."""


def choose_base(
    tree: Tree, ends: NamedEnds, base: str, head: str, *, patched: bool = False
) -> ChosenBase | Failure:
    """Chooses the base of head: the merge base if base is a branch, otherwise the named commit.

    `base` and `head` are commits. `patched` is true if a patch is applied on top of head.
    """
    as_named = ChosenBase(commit=base, sentence="")
    by_merge_base = ends.parts_at_merge_base or is_branch(tree, ends.base or "")
    whole_hash_of_url = tree.kind == "url" and ends.base == base and not by_merge_base
    if base == head or tree.kind == "imported" or whole_hash_of_url:
        return as_named
    parting = find_divergence(tree, base, head, thorough=by_merge_base)
    if isinstance(parting, Failure):
        return parting if by_merge_base else as_named
    if parting.merge_base == head and not (patched and by_merge_base):
        return _refuse_older_head(ends, parting)
    if parting.merge_base is None and by_merge_base:
        return wrong_usage(
            f"{ends.base} and {ends.head} have no commit in common, so there is no merge base",
            f"fetch the whole history (git fetch --unshallow), or name the commit itself: --base {base[:12]}",
        )
    if by_merge_base:
        assert parting.merge_base is not None
        return ChosenBase(commit=parting.merge_base, sentence=_merge_base_sentence(ends, parting))
    return ChosenBase(commit=base, sentence=_named_base_sentence(ends, base[:12], parting))


def is_branch(tree: Tree, name: str) -> bool:
    """True if a name is a local or remote branch. A hash, a tag, HEAD and HEAD~2 are not."""
    if tree.kind == "imported" or name in ("HEAD", "@") or name.startswith("-"):
        return False
    if tree.kind == "url":
        return _is_listed_branch(tree, name)
    shown = read_repository(Path(tree.location), ["rev-parse", "--symbolic-full-name", name])
    return shown.ok and shown.output.startswith(_BRANCHES)


def _is_listed_branch(tree: Tree, name: str) -> bool:
    reach = plan_fetch(tree.location, tree.access)
    if isinstance(reach, Failure) or _HASH.fullmatch(name):
        return False
    listed = git(["ls-remote", "--", reach.url, name], fetching=reach)
    first = listed.output.splitlines()[:1] if listed.ok else []
    return any(line.partition("\t")[2].startswith(_BRANCHES) for line in first)


def same_files(base: Revision, name: str, head: Revision) -> str:
    """Returns a sentence if the files of the arm `name` equal those of base; empty if they differ."""
    if base.tree != head.tree:
        return ""
    equal = (
        f"are both {base.short}"
        if base.commit == head.commit
        else f"({base.short}, {head.short}) have the same files"
    )
    return f"Base and {name} {equal}: this run shows how well a kernel's values repeat"


def _refuse_older_head(ends: NamedEnds, parting: Divergence) -> Failure:
    newer = count_noun(parting.base_alone, "commit")
    return wrong_usage(
        f"head {ends.head} is older than base {ends.base}, which has all of its commits and {newer} more",
        f"exchange them: --base {ends.head} --head {ends.base}",
    )


def _merge_base_sentence(ends: NamedEnds, parting: Divergence) -> str:
    newer = (
        f", without {count_noun(parting.base_alone, 'newer commit')} of {ends.base}"
        if parting.base_alone
        else ""
    )
    return (
        f"Base is {(parting.merge_base or '')[:12]}, the merge base of {ends.base} and {ends.head}: "
        f"{count_noun(parting.head_alone, 'commit')} of {ends.head}{newer}"
    )


def _named_base_sentence(ends: NamedEnds, base: str, parting: Divergence) -> str:
    commits = count_noun(parting.head_alone, "commit")
    if parting.merge_base is None:
        return (
            f"Base is {base}, as named; it has no commit in common with {ends.head}, so all differences count"
        )
    if not parting.base_alone:
        return ""
    return (
        f"Base is {base}, as named; head left its history at {parting.merge_base[:12]}, so"
        f" {count_noun(parting.base_alone, 'commit')} of base count as well as {commits} of head (--base"
        f" {parting.merge_base[:12]} measures those of head alone)"
    )
