"""`cliffwatch ci`: the steps that .github/workflows call. Each of them also runs without GitHub."""

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, get_args

import rich_click as click

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.command.compare import report_of_run
from cliffwatch.command.report_options import ReportOptions
from cliffwatch.failure import Exit, Failure, host_failed, wrong_usage
from cliffwatch.pull_request.policy import FILE_NAME, Target, read_policy
from cliffwatch.samples import MODES
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.ci.change import ManualChoices, default_policy, plan_change
from cliffwatch_runner.ci.event import ByHand, read_event
from cliffwatch_runner.ci.job_log import (
    add_to_summary,
    annotation,
    failure_annotation,
    write_outputs,
)
from cliffwatch_runner.ci.job_plan import JobPlan, Subject, read_job_plan
from cliffwatch_runner.ci.measuring import Place, measure_target
from cliffwatch_runner.ci.summary import nothing_measured, plan_summary, result_summary
from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.workflow.output import harmless_output
from cliffwatch_runner.command.workflow.publish import comment, publish
from cliffwatch_runner.command.workflow.watch import watch
from cliffwatch_runner.plan.arm_words.modules import check_module_used
from cliffwatch_runner.plan.selection import choose_suites
from cliffwatch_runner.run.progress import PlainLines
from cliffwatch_runner.source.access import ACCESSES, TreeAccess

_FILE = click.Path(path_type=Path, dir_okay=False)
_event_option = click.option(
    "--event", type=_FILE, envvar="GITHUB_EVENT_PATH", required=True, help="File with GitHub's event."
)
_summary_option = click.option(
    "--summary",
    type=_FILE,
    envvar="GITHUB_STEP_SUMMARY",
    help="File to append the summary to; default: standard output.",
)


@click.group()
def ci() -> None:
    """Steps of a GitHub workflow: plan, measure, summarise, publish, watch.

    docs/github.md has the workflows that call them. Each step takes files and options, and runs without
    GitHub.
    """


ci.add_command(comment)
ci.add_command(publish)
ci.add_command(watch)


@ci.command()
@_event_option
@click.option(
    "--event-name", envvar="GITHUB_EVENT_NAME", required=True, help="Name of the event, such as push."
)
@click.option(
    "--tree",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    show_default=True,
    help="Checkout with the full history.",
)
@click.option(
    "--subject",
    type=click.Choice(get_args(Subject)),
    default="kernel",
    show_default=True,
    help="Content of the checkout: a kernel tree, or a Go library to measure on one kernel.",
)
@click.option("--base", help="Revision to compare with, if the workflow was started by hand.")
@click.option("--head", help="Revision with the change, if the workflow was started by hand.")
@click.option("--policy", "policy_lines", help="Policy in TOML, if the workflow was started by hand.")
@click.option(
    "--output",
    type=_FILE,
    envvar="GITHUB_OUTPUT",
    help="File to append the outputs to: plan, matrix, targets.",
)
@_summary_option
def plan(
    event: Path,
    event_name: str,
    tree: Path,
    subject: Subject,
    base: str | None,
    head: str | None,
    policy_lines: str | None,
    output: Path | None,
    summary: Path | None,
) -> NoReturn:
    """Plan the measurement of an event: base, head and targets, by the policy of the base branch."""
    planned = _make_plan(event, event_name, tree, ManualWords(base, head, policy_lines), subject)
    if isinstance(planned, Failure):
        _summarise(nothing_measured((planned,)), summary)
        raise SystemExit(_fail([planned]))
    if output is not None:
        outputs = {"plan": planned.text(), "matrix": planned.matrix(), "targets": str(len(planned.targets))}
        write_outputs(output, outputs)
    _summarise(plan_summary(planned), summary)
    _say(planned.text())
    raise SystemExit(Exit.DONE)


class ManualWords(NamedTuple):
    """Inputs of a workflow that was started by hand; each may be None or empty."""

    base: str | None
    head: str | None
    policy: str | None


def _make_plan(
    event: Path, event_name: str, tree: Path, words: ManualWords, subject: Subject
) -> JobPlan | Failure:
    read = read_event(event, event_name)
    if isinstance(read, Failure):
        return read
    policy = None
    if words.policy and isinstance(read, ByHand):
        policy = read_policy(words.policy, "the workflow's policy", default_policy(subject))
    if isinstance(policy, Failure):
        return replace(policy, next_step="correct it and start the workflow again")
    planned = plan_change(
        read, tree, ManualChoices(base=words.base or None, head=words.head or None, policy=policy), subject
    )
    if isinstance(planned, Failure):
        return planned
    suites = choose_suites(load_catalogue(), planned.suites)
    if isinstance(suites, Failure):
        return replace(suites, message=f"{FILE_NAME}: {suites.message}")
    unused = None if planned.library is None else check_module_used(planned.library.module, suites)
    return planned if unused is None else unused


@ci.command()
@click.option(
    "--plan",
    "plan_text",
    envvar="CLIFFWATCH_PLAN",
    required=True,
    help="Plan from `cliffwatch ci plan`.",
)
@click.option("--platform", required=True, help="Platform of the target.")
@click.option("--mode", type=click.Choice(MODES), required=True, help="Mode of the target.")
@click.option("--tree", required=True, help="The subject's repository: URL, or one on this runner.")
@click.option("--kernel-tree", help="Tree of a Go library's kernel: URL or path, in place of the policy's.")
@click.option(
    "--tree-access",
    type=click.Choice(ACCESSES),
    help="Right to fetch the tree, as for `cliffwatch run`; default: public for a URL, own for a path.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Result directory."
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Parallel compilers; default: one per CPU.")
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
def run(plan_text: str, platform: str, mode: str, **where: Any) -> NoReturn:
    """Measure a plan on one of its targets.

    Exits with 0 if it measured, 1 if the policy's fail-on is met, 4 if this runner failed. A kernel that does
    not build or that dies is a result: the command exits with 1 only if fail-on names `failed`.
    """
    plan = read_job_plan(plan_text)
    if isinstance(plan, Failure):
        raise SystemExit(_fail([plan]))
    target = next((each for each in plan.targets if (each.platform, each.mode) == (platform, mode)), None)
    if target is None:
        raise SystemExit(
            _fail(
                [wrong_usage(f"the plan has no target {platform!a} in {mode}", "name a target of the plan")]
            )
        )
    raise SystemExit(_measure(plan, target, _place(**where)))


def _place(
    tree: str,
    kernel_tree: str | None,
    tree_access: TreeAccess | None,
    out: Path,
    jobs: int | None,
    cache: Path,
) -> Place:
    access: TreeAccess = tree_access or ("public" if "://" in tree else "own")
    return Place(tree=tree, access=access, out=out, cache=cache, jobs=jobs, kernel_tree=kernel_tree or None)


def _measure(plan: JobPlan, target: Target, place: Place) -> int:
    with harmless_output(), _stopping() as stop:
        progress = PlainLines(sys.stdout)
        try:
            ended = measure_target(plan, target, place, progress, stop)
        except Stopped:
            return Exit.INTERRUPTED
        except OSError as error:
            failure = host_failed(f"this runner failed: {error}", "see `cliffwatch doctor`")
            ended = (failure,)
        finally:
            progress.close()
        if not isinstance(ended, tuple):
            code = (
                Exit.INTERRUPTED if ended.interrupted else report_of_run(ended.folder, _report_options(plan))
            )
    if isinstance(ended, tuple):
        return _fail(ended)
    return _exit_code(code, plan)


def _exit_code(code: int, plan: JobPlan) -> int:
    """Returns the exit code of a job.

    A failed kernel fails the job if fail-on names it, else it only warns.
    """
    if code != Exit.KERNEL_FAILED:
        return code
    met = "failed" in plan.fail_on
    click.echo(
        annotation(
            "error" if met else "warning", "a kernel did not build or died: see the report for its error"
        )
    )
    return Exit.FAIL_ON_MET if met else Exit.DONE


def _report_options(plan: JobPlan) -> ReportOptions:
    return ReportOptions(
        format="text",
        out=None,
        fail_on=frozenset(plan.fail_on),
        notable=plan.notable,
        all_metrics=False,
        explain=None,
        colour="never",
    )


@ci.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@_summary_option
def summary(folders: tuple[Path, ...], summary: Path | None) -> None:
    """Add the reports of result directories to the summary of the step."""
    for folder in folders:
        _summarise(result_summary(folder), summary)


def _summarise(markdown: str, file: Path | None) -> None:
    if file is None:
        _say(markdown)
    elif not add_to_summary(file, markdown):
        click.echo(
            annotation(
                "warning", "the summary is truncated: GitHub shows only 1 MiB; the artifact has all of it"
            )
        )


def _say(text: str) -> None:
    """Prints untrusted text, so that the runner reads no commands in it."""
    with harmless_output():
        click.echo(text)


def _fail(failures: Sequence[Failure]) -> Exit:
    """Prints failures with their evidence, and the first as an annotation. Returns the worst exit code."""
    click.echo(failure_annotation(failures[0]))
    with harmless_output():
        for failure in failures:
            click.echo(f"cliffwatch: {failure.message}\n{failure.evidence[:8000]}\n  {failure.next_step}")
    return max(failure.exit for failure in failures)


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Yields an event that is set when the job is cancelled, so that guests end and locks are released."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
