"""Turns an event into a plan: its base and head, the policy of the base, and the trust in head."""

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.pull_request.mailing_list_series import (
    BranchCommit,
    find_measured_range,
    read_series_branch,
    read_series_record,
    touches_more_than_ci,
)
from cliffwatch.pull_request.policy import DEFAULT, FILE_NAME, LIBRARY_DEFAULT, Policy, read_policy
from cliffwatch_runner.ci.event import Event, PullRequest, Push
from cliffwatch_runner.ci.job_plan import JobPlan, LibraryPlan, Subject, make_job_plan
from cliffwatch_runner.ci.policy_suites import suites_of_policy
from cliffwatch_runner.source.access import Trust
from cliffwatch_runner.source.go_modules import declared_module, is_module_path
from cliffwatch_runner.source.named_repository import read_repository
from cliffwatch_runner.source.ranges.ends import choose_base, read_ends
from cliffwatch_runner.source.tree import Tree

_LOOKED_AT, _BELOW = 300, 20
"""Most commits of a branch whose files are read; commits further down count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualChoices:
    """Options of a workflow started by hand. Defaults: the default branch, HEAD, the repository's policy."""

    base: str | None = None
    head: str | None = None
    policy: Policy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """The commits of an event, before CI's own commits are left out at either end."""

    tip: str
    """The commit whose policy applies."""
    merge_base: str
    head: str
    trust: Trust
    recorded: str | None = None
    """Upstream commit that the pull request of a patch series records; None if there is none."""
    pull_request: int | None = None
    series: int | None = None
    branch: str | None = None
    chosen: str = ""
    """Says which commit is base, without a full stop. Empty if the names already say it."""


def default_policy(subject: Subject) -> Policy:
    """Returns the policy for a repository without a policy file."""
    return LIBRARY_DEFAULT if subject == "go-library" else DEFAULT


def plan_change(
    event: Event, tree: Path, choices: ManualChoices, subject: Subject = "kernel"
) -> JobPlan | Failure:
    """Plans the measurement of an event. `tree` is a checkout with the history of base and head."""
    if isinstance(event, PullRequest):
        ends = _pull_request_ends(event, tree)
    elif isinstance(event, Push):
        ends = _push_ends(event, tree)
    else:
        ends = _manual_ends(event.default_branch, tree, choices)
    if isinstance(ends, Failure):
        return ends
    policy = _policy_of(event, tree, ends.tip, default_policy(subject))
    if isinstance(policy, Failure):
        return policy
    if choices.policy is not None and not isinstance(event, (PullRequest, Push)):
        policy = choices.policy
    plan = _plan_range(tree, ends, policy)
    return _add_library(tree, plan, policy) if subject == "go-library" and plan.targets else plan


def _add_library(tree: Path, plan: JobPlan, policy: Policy) -> JobPlan | Failure:
    """Adds the Go module to the plan. The go.mod of base and of head must name the same module."""
    modules = [_module_of(tree, name, commit) for name, commit in (("base", plan.base), ("head", plan.head))]
    for module in modules:
        if isinstance(module, Failure):
            return module
    base, head = map(str, modules)
    if base != head:
        return wrong_usage(
            f"base is the module {base[:200]}, and head is {head[:200]}",
            "measure the move by hand, with an arm for each (docs/arms.md)",
        )
    kernel = policy.kernel
    return msgspec.structs.replace(
        plan, library=LibraryPlan(module=base, kernel_tree=kernel.tree, kernel=kernel.revision)
    )


def _module_of(tree: Path, name: str, commit: str) -> str | Failure:
    text = _text_at(tree, commit, "go.mod")
    if isinstance(text, Failure):
        return replace(text, message=f"{name}: {text.message}")
    module = None if text is None else declared_module(text)
    if module is None:
        what = "has no go.mod at its top" if text is None else "names no module in its go.mod"
        return wrong_usage(
            f"{name}, {commit[:12]}, {what}",
            "call the workflow from a Go library whose module is the repository's top",
        )
    return (
        module
        if is_module_path(module)
        else wrong_usage(f"{name} is no module: {module[:200]!a}", "fix its go.mod")
    )


def _plan_range(tree: Path, ends: _Ends, policy: Policy) -> JobPlan:
    counting = find_measured_range(
        _commits(tree, ends.merge_base, ends.head),
        merge_base=ends.merge_base,
        head=ends.head,
        recorded=ends.recorded,
    )
    notes = [f"{ends.chosen}."] if ends.chosen else []
    if counting.head != ends.head:
        notes.append("Commits that touch CI files alone are left out of head.")
    if counting.base != ends.merge_base:
        notes.append("Base is the upstream commit below the CI files.")
    if not counting.commits:
        notes.append("Nothing is measured: no commit touches more than CI files.")
    followed = ends.branch is None or policy.follows(ends.branch, otherwise=True)
    if not followed:
        notes.append(f"Nothing is measured: {FILE_NAME} of the base branch does not follow this branch.")
    suites = suites_of_policy(tree, policy, counting) if followed and counting.commits else None
    if isinstance(suites, Failure):
        notes.append(
            f"Nothing is measured: {suites.message}. {suites.next_step[0].upper()}{suites.next_step[1:]}."
        )
        followed = False
    elif suites is not None:
        notes += [f"{suites.sentence}."] if suites.sentence else []
        policy = replace(policy, suites=suites.names)
    if policy.setup.matched and ends.trust == "outside":
        policy = replace(policy, setup=msgspec.structs.replace(policy.setup, matched=False))
        notes.append("Head is not matched to base's layouts: of a tree from outside no build is kept.")
    measured = len(counting.commits) if followed else 0
    return make_job_plan(
        policy,
        base=counting.base,
        head=counting.head,
        commits=measured,
        pull_request=ends.pull_request,
        series=ends.series,
        trust=ends.trust,
        targets=policy.targets if measured else (),
        notes=tuple(notes),
    )


def _pull_request_ends(event: PullRequest, tree: Path) -> _Ends | Failure:
    merge_base = _merge_base(tree, event.base, event.head)
    if isinstance(merge_base, Failure):
        return merge_base
    series = read_series_branch(event.head_branch)
    return _Ends(
        tip=event.base,
        merge_base=merge_base,
        head=event.head,
        chosen=_sentence(tree, "the base branch", event.base, merge_base),
        trust="outside" if event.fork else "followed",
        recorded=read_series_record(event.body).upstream if series is not None else None,
        pull_request=event.number,
        series=None if series is None else series.series,
    )


def _push_ends(event: Push, tree: Path) -> _Ends | Failure:
    """Compares a push to an `_is_line` branch with the commit before it, others with the default branch."""
    series = read_series_branch(event.branch)
    main = series.base_branch if series is not None else event.default_branch
    tip = event.before if event.branch == main else commit_of(tree, f"refs/remotes/origin/{main}")
    if tip is None and event.branch == main:
        tip = commit_of(tree, f"{event.after}^")
    if tip is None:
        return _no_commit(f"the branch {main!a}")
    if isinstance(tip, Failure):
        return tip
    since = event.before if event.before is not None and _is_line(tree, event, tip) else tip
    merge_base = _merge_base(tree, since, event.after)
    if isinstance(merge_base, Failure):
        return merge_base
    return _Ends(
        tip=tip,
        merge_base=merge_base,
        head=event.after,
        chosen=_sentence(
            tree, "the default branch" if since == tip else "what was pushed before", since, merge_base
        ),
        trust="followed",
        series=None if series is None else series.series,
        branch=event.branch,
    )


def _is_line(tree: Path, event: Push, tip: str) -> bool:
    """True for the default branch and branches that the policy names: pushes are compared in turn."""
    if event.branch == event.default_branch:
        return True
    policy = policy_at(tree, tip)
    return isinstance(policy, Policy) and policy.follows(event.branch, otherwise=False)


def _manual_ends(default_branch: str, tree: Path, choices: ManualChoices) -> _Ends | Failure:
    named = read_ends(choices.base, choices.head)
    if isinstance(named, Failure):
        return named
    default = next(
        (name for name in (f"origin/{default_branch}", default_branch) if commit_of(tree, name)), None
    )
    if default is None:
        return _no_commit(f"the branch {default_branch!a}")
    ends = replace(
        named,
        base=_name_here(tree, named.base) if named.base else default,
        head=_name_here(tree, named.head or "HEAD"),
    )
    tip, base, head = (commit_of(tree, name or "") for name in (default, ends.base, ends.head))
    if tip is None or base is None or head is None:
        return _no_commit(f"the head {named.head!a}" if head is None else f"the base {named.base!a}")
    repository = Tree(spec=str(tree), kind="repository", location=str(tree), mirror=tree, access="own")
    chosen = choose_base(repository, ends, base, head)
    if isinstance(chosen, Failure):
        return chosen
    return _Ends(tip=tip, merge_base=chosen.commit, head=head, chosen=chosen.sentence, trust="outside")


def _name_here(tree: Path, name: str) -> str:
    """Returns the name of a revision in the checkout, which has most branches only as branches of origin."""
    return name if commit_of(tree, name) is not None else f"origin/{name}"


def _sentence(tree: Path, what: str, named: str, merge_base: str) -> str:
    """Says which commit is base. Empty if it is the newest commit of `what`."""
    if named == merge_base:
        return ""
    listed = read_repository(tree, ["rev-list", "--count", f"{merge_base}..{named}"])
    newer = count_noun(int(listed.output), "newer commit") if listed.ok else "newer commits"
    return f"Base is {merge_base[:12]}, the merge base of {what} and head, without {newer} of {what}"


def _policy_of(event: Event, tree: Path, tip: str, default: Policy) -> Policy | Failure:
    """Returns the base's policy; the default for a series branch, whose files came by mail from anybody."""
    if isinstance(event, PullRequest) and read_series_branch(event.base_branch) is not None:
        return default
    return policy_at(tree, tip, default)


def policy_at(tree: Path, commit: str, default: Policy = DEFAULT) -> Policy | Failure:
    """Reads the policy file of a commit; returns the default if the commit has none."""
    text = _text_at(tree, commit, FILE_NAME)
    if text is None or isinstance(text, Failure):
        return default if text is None else text
    policy = read_policy(text, FILE_NAME, default)
    return (
        replace(policy, message=f"{policy.message} (at {commit[:12]})")
        if isinstance(policy, Failure)
        else policy
    )


def _text_at(tree: Path, commit: str, name: str) -> str | Failure | None:
    """Reads a file in the top folder of a commit; None if it does not exist."""
    listed = read_repository(tree, ["ls-tree", "-z", commit, "--", name])
    if not listed.ok:
        return _no_commit(commit[:12])
    if not listed.output:
        return None
    if not listed.output.startswith(("100644 blob", "100755 blob")):
        return wrong_usage(f"{name} of {commit[:12]} is no regular file", "make it one")
    shown = read_repository(tree, ["cat-file", "blob", f"{commit}:{name}"])
    return shown.output if shown.ok else _no_commit(f"{name} of {commit[:12]}")


def commit_of(tree: Path, name: str) -> str | None:
    parsed = read_repository(
        tree, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    )
    return parsed.output.split()[-1] if parsed.ok and parsed.output.strip() else None


def _merge_base(tree: Path, one: str, other: str) -> str | Failure:
    for commit in (one, other):
        if commit_of(tree, commit) is None:
            return _no_commit(commit[:12])
    found = read_repository(tree, ["merge-base", one, other])
    if found.ok and found.output.strip():
        return found.output.split()[0]
    return wrong_usage(
        f"{one[:12]} and {other[:12]} have no commit in common",
        "give the check-out the whole history (fetch-depth: 0), or rebase the branch",
    )


def _no_commit(what: str) -> Failure:
    return wrong_usage(f"the check-out does not have {what}", "give it the whole history: fetch-depth: 0")


def _commits(tree: Path, merge_base: str, head: str) -> dict[str, BranchCommit]:
    """Lists commits with their files: first parents of head, and a few from the merge base down."""
    found = {}
    for limit, revisions in ((_LOOKED_AT, [head, f"^{merge_base}"]), (_BELOW, [merge_base])):
        listed = read_repository(
            tree, ["rev-list", "--first-parent", "--parents", f"--max-count={limit}", *revisions]
        )
        for line in listed.output.splitlines() if listed.ok else ():
            commit, *parents = line.split()
            found[commit] = BranchCommit(commit=commit, parents=tuple(parents), paths=_paths(tree, commit))
            if revisions == [merge_base] and touches_more_than_ci(found[commit].paths):
                break
    return found


def _paths(tree: Path, commit: str) -> tuple[str, ...]:
    touched = read_repository(
        tree, ["diff-tree", "--no-commit-id", "--name-only", "-r", "-z", "--root", commit]
    )
    return tuple(filter(None, touched.output.split("\0"))) if touched.ok else ()
