"""Builds the state of a pull request from a workflow's results: the source of its comment and check run."""

from collections.abc import Sequence

from cliffwatch.failure import host_failed
from cliffwatch.pull_request.mailing_list_series import read_series_branch, version_in_subject
from cliffwatch.pull_request.policy import DEFAULT, LIBRARY_DEFAULT, Policy
from cliffwatch.pull_request.state import (
    Failed,
    Link,
    Measured,
    PullRequestState,
    Series,
    TargetState,
    confirmed_rows,
)
from cliffwatch.reports.context import context_of_run, with_functions
from cliffwatch.samples import is_rehearsal
from cliffwatch_runner.ci.published_results import (
    MeasuredLibrary,
    OpenPull,
    Result,
    commits_of,
    library_of,
    origin_notes,
)
from cliffwatch_runner.ci.workflow_run import WorkflowRun

_NO_RESULTS = host_failed("the job left no results", "its log on GitHub says why")


def build_state(
    run: WorkflowRun, pull: OpenPull | None, policy: Policy, results: Sequence[Result], server: str
) -> PullRequestState:
    """Builds the state with every target of the policy, measured or not, and any other measured target."""
    by_target = {(result.target.platform, result.target.mode): result for result in results}
    wanted = dict.fromkeys([*((each.platform, each.mode) for each in policy.targets), *by_target])
    measured = next((each.run for each in results if each.run is not None), None)
    library = None if measured is None else library_of(measured)
    base = commits_of(measured)[0] if measured is not None else (pull.base if pull else run.head)
    series = read_series_branch(run.head_branch)
    title = pull.title if pull is not None else run.head_branch
    return PullRequestState(
        sequence=run.sequence,
        title=title,
        base=base,
        head=run.head,
        targets=tuple(
            TargetState(platform=platform, mode=mode, progress=_progress(by_target.get((platform, mode))))
            for platform, mode in wanted
        ),
        repeat=(
            _repeat(run, policy, base, server)
            if library is None
            else _repeat_of_library(run, policy, library, server)
        ),
        by_unit=library is not None,
        series=(
            None if series is None else Series(identity=str(series.series), version=version_in_subject(title))
        ),
        links=(
            Link(name="the workflow's run", url=f"{server}/{run.repository}/actions/runs/{run.identity}"),
        ),
        notes=tuple(origin_notes(run)),
    )


def _progress(result: Result | None) -> Measured | Failed:
    if result is None:
        return Failed(failure=_NO_RESULTS)
    if result.run is None or result.compared is None:
        return Failed(failure=result.failure or _NO_RESULTS)
    arms = [arm for name, arm in result.run.arms.items() if name in ("base", "head")]
    return Measured(
        compared=result.compared,
        context=with_functions(context_of_run(result.run), [result.compared]),
        confirmed=confirmed_rows(result.compared, *arms),
    )


def _repeat_of_library(run: WorkflowRun, policy: Policy, library: MeasuredLibrary, server: str) -> str:
    """Returns the commands that check out base and head of a library and compare them.

    The only untrusted parts are the module path and the commits, whose form has been checked.
    """
    kernel = policy.kernel
    suites = LIBRARY_DEFAULT.suites if policy.suites == DEFAULT.suites else policy.suites
    lines = []
    arms = []
    for name, repository, commit in (
        ("base", run.repository, library.base),
        ("head", run.head_repository, library.head),
    ):
        folder = f"library-{name}"
        lines += [
            f"git init --quiet {folder}",
            f"git -C {folder} fetch --depth 1 {server}/{repository} {commit}",
        ]
        lines.append(f"git -C {folder} checkout --quiet {commit}")
        arms.append(f"--arm '{name}={kernel.revision} module={library.module}=./{folder}'")
    measured = _options(policy, suites)
    return "\n".join([*lines, f"cliffwatch run --tree {kernel.tree} {' '.join(arms)} {measured}"])


def _repeat(run: WorkflowRun, policy: Policy, base: str, server: str) -> str:
    ends = f"--tree {server}/{run.repository} --base {base} --head {run.head}"
    return f"cliffwatch run {ends} {_options(policy, policy.suites)}"


def _options(policy: Policy, suites: Sequence[str]) -> str:
    """Returns the options that measure the first target."""
    mode, rehearsed = policy.targets[0].mode, is_rehearsal(policy.targets[0].platform)
    chosen = f"--suite {','.join(suites)} --profile {policy.profile} --mode {mode}"
    chosen += f"{' --accel tcg' if rehearsed else ''} --boots {policy.boots}"
    return " ".join((chosen, *policy.setup.walltime_options(mode)))
