"""Branches that have a name of their own here, and what is asked of a branch unless somebody
says otherwise.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cliffwatch_service.history.watching.anchors import may_have_anchor
from cliffwatch_service.store.follows import FollowFacts, Policy


class Preset(NamedTuple):
    """A branch of a tree."""

    tree: str
    branch: str


_KERNEL_ORG = "https://git.kernel.org/pub/scm/linux/kernel/git/bpf"

PRESETS: Mapping[str, Preset] = {
    "bpf": Preset(f"{_KERNEL_ORG}/bpf.git", "master"),
    "bpf-next": Preset(f"{_KERNEL_ORG}/bpf-next.git", "master"),
}
"""The branches that BPF's maintainers apply to, as MAINTAINERS of the kernel names them."""

DEFAULT_TARGET = ("emulated-x86-64", "icount")
"""Where a branch is measured that nobody named a target for: any host can."""


def entries_of(
    where: Preset,
    targets: Sequence[tuple[str, str]],
    suites: Sequence[str],
    profile: str,
    policy: Policy | None,
    anchor: str | None = None,
) -> list[FollowFacts]:
    """How to follow a branch on some targets: by one policy where it is named, else every commit where
    instructions are counted and nightly where time is measured. The anchor goes to the entries that can
    have one, and to all where none can, which is refused then.
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
