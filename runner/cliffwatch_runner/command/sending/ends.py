"""Resolves the revisions of a request to commits in the tree's repository, before it goes to a service."""

from pathlib import Path
from typing import NamedTuple

from cliffwatch.command.terminal import echo_failure
from cliffwatch.failure import Exit, Failure, host_failed, wrong_usage
from cliffwatch.formats.values import FreeJson
from cliffwatch.trees.addresses import has_credentials
from cliffwatch_runner.source.access import plan_fetch
from cliffwatch_runner.source.git import git
from cliffwatch_runner.source.ranges.ends import choose_base, read_ends
from cliffwatch_runner.source.tree import Tree


class SubmittedEnds(NamedTuple):
    """Base and head of a request, and a sentence on the commit that was chosen as base."""

    base: str | None
    head: str | None
    sentence: str = ""


def resolve_ends(tree: str, options: FreeJson) -> SubmittedEnds | Failure:
    """Resolves base and head if both are named. With a series, base is used as named."""
    named = read_ends(options["base"], options["head"])
    if isinstance(named, Failure):
        return named
    if named.base is None or named.head is None or options["series"] is not None:
        return SubmittedEnds(named.base, named.head)
    base, head = resolve_commit(tree, named.base), resolve_commit(tree, named.head)
    remote = Tree(spec=tree, kind="url", location=tree, mirror=Path(), access="own")
    chosen = choose_base(remote, named, base, head, patched=options["patch"] is not None)
    return chosen if isinstance(chosen, Failure) else SubmittedEnds(chosen.commit, head, chosen.sentence)


def resolve_commit(tree: str, name: str) -> str:
    if has_credentials(tree):
        raise SystemExit(
            _print_refusal(
                "the URL of the tree contains credentials",
                "remove them: hosts fetch only public trees, or those that an administrator allows",
            )
        )
    if len(name) == 40 and all(letter in "0123456789abcdef" for letter in name):
        return name
    reach = plan_fetch(tree, "own")
    if isinstance(reach, Failure):
        raise SystemExit(echo_failure(reach))
    listed = git(["ls-remote", "--", reach.url, name, f"{name}^{{}}"], fetching=reach)
    if not listed.ok:
        raise SystemExit(
            echo_failure(
                host_failed(
                    f"the branches of {tree} cannot be listed",
                    "check the address and the network, or name a full commit hash",
                    listed.output[-2000:],
                )
            )
        )
    rows = [line.split("\t") for line in listed.output.splitlines() if "\t" in line]
    if not rows:
        raise SystemExit(
            _print_refusal(f"{tree} has no {name!r}", "name a branch, a tag or a full commit hash")
        )
    return next((row[0] for row in rows if row[1].endswith("^{}")), rows[0][0])


def _print_refusal(message: str, next_step: str) -> Exit:
    return echo_failure(wrong_usage(message, next_step))
