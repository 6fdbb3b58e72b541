"""The policy of a repository: `.cliffwatch.toml` of the base branch.

The file of head is never read: it is untrusted.

Every key is optional. A repository without the file gets the defaults:

    suites = ["auto"]                   # "auto": suites that head affects; "discovered": suites of this tree;
                                        # "all"; or names from `cliffwatch suites`
    profile = "smoke"                   # smoke, standard or full
    boots = "auto"                      # boots per kernel: a number from 1 to 999, auto, staged or careful
    layouts = 8                         # walltime: layouts of each kernel, from 1 to 100
    matched = false                     # walltime: true boots head also in base's layouts; not of forks
    # time = "25m"                      # walltime: in place of boots and layouts
    bench-from = "head"                 # whose bench measures both kernels: base or head
    threshold = 0.5                     # smallest reported change in per cent; else each mode has its own
    fail-on = []                        # verdicts that make the check fail: regression, failed, inconclusive
    follow = ["bpf-next", "for-next/*"] # branches whose pushes are measured; without it, see `Policy.follows`

    [[target]]                          # without any target: only icount
    mode = "icount"                     # required
    platform = "emulated-x86-64"        # default of icount; required for walltime
    runs-on = ["ubuntu-24.04"]          # labels of GitHub's runner; default of icount

    [[target]]
    mode = "walltime"
    platform = "amd-rome"               # default of runs-on: ["self-hosted", "cliffwatch", "amd-rome"]

    [kernel]                            # for a Go library: the kernel on which its revisions are measured
    tree = "https://git.kernel.org/pub/scm/linux/kernel/git/stable/linux.git"
    revision = "v6.12"                  # a tag, a branch or a full hash

    [trust]                             # authors whose pull requests are measured without approval
    associations = ["OWNER", "MEMBER", "COLLABORATOR"]
    authors = []                        # logins

For a Go library, the default of suites is ["cilium-ebpf"].
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from cliffwatch.catalogue.discovery import AUTO
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.setup import NO_SETUP, Setup
from cliffwatch.parsers.readings import Problem
from cliffwatch.pull_request.policy_boots import Boots, read_boots, read_walltime_setup, refuse_conflict
from cliffwatch.pull_request.policy_reader import PolicyReader, shorten_value
from cliffwatch.samples import (
    DEFAULT_BOOTS,
    DEFAULT_PROFILE,
    MODES,
    PROFILES,
    Mode,
    Profile,
)
from cliffwatch.trees.addresses import read_address

FILE_NAME = ".cliffwatch.toml"
LARGEST = 64 << 10
"""Maximum length of a policy file, in characters."""

FailOn = Literal["regression", "failed", "inconclusive"]

ASSOCIATIONS = (
    "OWNER",
    "MEMBER",
    "COLLABORATOR",
    "CONTRIBUTOR",
    "FIRST_TIME_CONTRIBUTOR",
    "FIRST_TIMER",
    "NONE",
)
"""GitHub's names for the relation of an author to a repository."""

_TRUSTED = ("OWNER", "MEMBER", "COLLABORATOR")
_HOSTED = ("ubuntu-24.04",)
_EMULATED = "emulated-x86-64"
_FAIL_ON: tuple[FailOn, ...] = get_args(FailOn)
_BENCH_FROM = ("head", "base")

_LINE = re.compile(r"line (\d+)")
_PLATFORM = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)
_REVISION = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w./+-]{0,199}", re.ASCII)

_KEYS = (
    "suites",
    "profile",
    "boots",
    "layouts",
    "matched",
    "time",
    "bench-from",
    "threshold",
    "fail-on",
    "follow",
    "target",
    "kernel",
    "trust",
)
_TARGET_KEYS = ("mode", "platform", "runs-on")
_KERNEL_KEYS = ("tree", "revision")
_TRUST_KEYS = ("associations", "authors")
_MOST_TARGETS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A platform and a mode to measure in."""

    platform: str
    mode: Mode
    runs_on: tuple[str, ...]
    """Labels of the GitHub runner that measures in a workflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """The kernel on which a library's revisions are measured. Default: a release with long-term support."""

    tree: str = "https://git.kernel.org/pub/scm/linux/kernel/git/stable/linux.git"
    """URL of the tree."""
    revision: str = "v6.12"


EMULATED = Target(platform=_EMULATED, mode="icount", runs_on=_HOSTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How changes are measured, and whose pull requests are measured without approval."""

    suites: tuple[str, ...] = (AUTO,)
    profile: Profile = DEFAULT_PROFILE
    boots: Boots = DEFAULT_BOOTS
    setup: Setup = NO_SETUP
    """Layouts, matched layouts and time of the targets in walltime."""
    bench_from: Literal["base", "head"] = "head"
    notable: float | None = None
    """Threshold as a fraction; None for each mode's own."""
    fail_on: tuple[FailOn, ...] = ()
    """Verdicts that make the check fail."""
    targets: tuple[Target, ...] = (EMULATED,)
    follow: tuple[str, ...] | None = None
    """Patterns of the branches whose pushes are measured; None if the policy does not restrict branches."""
    kernel: KernelSource = KernelSource()
    trusted_associations: tuple[str, ...] = _TRUSTED
    trusted_authors: tuple[str, ...] = ()
    """Logins."""

    def follows(self, branch: str, *, otherwise: bool) -> bool:
        """True if pushes to a branch are measured.

        Returns `otherwise` if the policy does not restrict branches.
        """
        if self.follow is None:
            return otherwise
        return any(fnmatchcase(branch, pattern) for pattern in self.follow)

    def trusts(self, author: str, association: str) -> bool:
        """True if an author's pull requests are measured without approval.

        `association` is GitHub's `author_association`.
        """
        return association in self.trusted_associations or author.casefold() in map(
            str.casefold, self.trusted_authors
        )


DEFAULT = Policy()
"""The policy of a repository without a file."""

LIBRARY_DEFAULT = Policy(suites=("cilium-ebpf",))
"""The policy of a Go library without a file."""


def read_policy(text: str, name: str, default: Policy = DEFAULT) -> Policy | Failure:
    """Parses a policy file. Keys that it lacks come from `default`.

    A failure lists all errors as `NAME:LINE: MESSAGE`, with `name` as the file's name.
    """
    if len(text) > LARGEST:
        return _failure([Problem(file=name, reason=f"{len(text)} characters are too many for a policy")])
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        position = _LINE.search(str(error))
        line = int(position[1]) if position else 1
        return _failure([Problem(file=name, line=line, reason=f"no TOML: {error}")])
    reader = PolicyReader(text, name)
    policy = _policy(reader, content, default)
    if not reader.problems:
        refuse_conflict(reader, policy.setup, policy.boots, {target.mode for target in policy.targets})
    if reader.problems:
        return _failure(sorted(reader.problems, key=lambda problem: (problem.line, problem.reason)))
    return policy


def _failure(problems: Sequence[Problem]) -> Failure:
    first, *others = map(str, problems)
    return wrong_usage(
        first, "correct the file on the base branch: the one of head is never read", "\n".join(others[:40])
    )


def _policy(reader: PolicyReader, content: Mapping[str, object], default: Policy) -> Policy:
    reader.known(content, _KEYS, ())
    trust = reader.table(content.get("trust", {}), ("trust",))
    reader.known(trust, _TRUST_KEYS, ("trust",))
    suites = reader.names(content, ("suites",))
    if suites == ():
        reader.refuse(("suites",), "'suites' is empty; name one, or leave the line out")
    return Policy(
        suites=suites or default.suites,
        profile=reader.one_of(content, PROFILES, ("profile",)),
        boots=read_boots(reader, content),
        setup=read_walltime_setup(reader, content),
        bench_from=reader.one_of(content, _BENCH_FROM, ("bench-from",)),
        notable=_notable(reader, content.get("threshold")),
        fail_on=reader.several_of(content, _FAIL_ON, (), ("fail-on",)),
        targets=_targets(reader, content),
        follow=reader.names(content, ("follow",)),
        kernel=_kernel(reader, content, default.kernel),
        trusted_associations=reader.several_of(trust, ASSOCIATIONS, _TRUSTED, ("trust", "associations")),
        trusted_authors=reader.names(trust, ("trust", "authors")) or (),
    )


def _notable(reader: PolicyReader, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 100:
        return value / 100
    reader.refuse(
        ("threshold",),
        f"'threshold' is {shorten_value(value)}; give a number of per cent from 0 to 100, such as 0.5",
    )
    return None


def _kernel(reader: PolicyReader, content: Mapping[str, object], default: KernelSource) -> KernelSource:
    table = reader.table(content.get("kernel", {}), ("kernel",))
    reader.known(table, _KERNEL_KEYS, ("kernel",))
    tree, revision = table.get("tree", default.tree), table.get("revision", default.revision)
    wrong = read_address(tree if isinstance(tree, str) else "")
    if isinstance(wrong, Failure):
        reader.refuse(("kernel", "tree"), f"'tree' is {shorten_value(tree)}: {wrong}")
    if not isinstance(revision, str) or not _REVISION.fullmatch(revision):
        reader.refuse(
            ("kernel", "revision"), f"{shorten_value(revision)} is no name of a revision, such as v6.12"
        )
    return KernelSource(tree=str(tree), revision=str(revision))


def _targets(reader: PolicyReader, content: Mapping[str, object]) -> tuple[Target, ...]:
    given = content.get("target")
    if given is None:
        return DEFAULT.targets
    if not isinstance(given, list) or not 1 <= len(given) <= _MOST_TARGETS:
        reader.refuse(
            ("target",), f"'target' must be from 1 to {_MOST_TARGETS} tables, each under [[target]]"
        )
        return ()
    targets = tuple(_target(reader, index, each) for index, each in enumerate(given))
    for index, message in _find_duplicates(targets):
        reader.refuse(("target", index), message)
    return targets


def _target(reader: PolicyReader, index: int, value: Any) -> Target:
    path = ("target", index)
    table = reader.table(value, path)
    reader.known(table, _TARGET_KEYS, path)
    if "mode" not in table:
        reader.refuse(path, f"'mode' is missing; it is always said: {' or '.join(MODES)}")
    mode: Mode = reader.one_of(table, MODES, (*path, "mode"))
    platform = table.get("platform", _EMULATED if mode == "icount" else None)
    if platform is None:
        reader.refuse(
            path, "'platform' is missing; walltime is measured on a kind of machine, such as amd-rome"
        )
    elif not isinstance(platform, str) or not _PLATFORM.fullmatch(platform):
        reader.refuse(
            (*path, "platform"), f"{shorten_value(platform)} is no name of a platform, such as amd-rome"
        )
    platform = str(platform)
    labels = reader.names(table, (*path, "runs-on"))
    if labels == ():
        reader.refuse((*path, "runs-on"), "'runs-on' is empty; name a label, or leave the line out")
    default = _HOSTED if mode == "icount" else ("self-hosted", "cliffwatch", platform)
    return Target(platform=platform, mode=mode, runs_on=labels or default)


def _find_duplicates(targets: Sequence[Target]) -> Iterator[tuple[int, str]]:
    seen = set()
    for index, target in enumerate(targets):
        if (target.platform, target.mode) in seen:
            yield index, f"{target.platform} in {target.mode} is there twice"
        seen.add((target.platform, target.mode))
