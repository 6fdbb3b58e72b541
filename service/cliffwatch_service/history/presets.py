"""Branches with a short name, and the defaults for following a branch."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cliffwatch_service.history.watching.anchors import may_have_anchor
from cliffwatch_service.store.follows import FollowFacts, Policy


class Preset(NamedTuple):
    """A branch of a tree, with its URL."""

    tree: str
    branch: str


_KERNEL_ORG = "https://git.kernel.org/pub/scm/linux/kernel/git/bpf"

PRESETS: Mapping[str, Preset] = {
    "bpf": Preset(f"{_KERNEL_ORG}/bpf.git", "master"),
    "bpf-next": Preset(f"{_KERNEL_ORG}/bpf-next.git", "master"),
}
"""The branches that the BPF maintainers apply patches to, as listed in the kernel's MAINTAINERS."""

DEFAULT_TARGET = ("emulated-x86-64", "icount")
"""Target of a branch if none is named: any host can measure it."""


def entries_of(
    where: Preset,
    targets: Sequence[tuple[str, str]],
    suites: Sequence[str],
    profile: str,
    policy: Policy | None,
    anchor: str | None = None,
) -> list[FollowFacts]:
    """Returns the entries that follow a branch on some targets, one for each policy.

    If `policy` is None, every commit is measured in icount, and walltime is measured nightly. The anchor
    goes to the entries that can have one. If none can, it goes to all, and `follow_branch` refuses it.
    """
    named = list(targets) or [DEFAULT_TARGET]
    by_policy: dict[Policy, list[tuple[str, str]]] = {}
    for target in named:
        by_policy.setdefault(policy or ("commit" if target[1] == "icount" else "nightly"), []).append(target)
    anchored = [each for each, own in by_policy.items() if may_have_anchor(each, own)] or list(by_policy)
    return [
        FollowFacts(
            tree=where.tree,
            branch=where.branch,
            policy=each,
            targets=own,
            suites=list(suites),
            profile=profile,
            anchor=anchor if each in anchored else None,
        )
        for each, own in by_policy.items()
    ]
