"""`cliffwatch ci publish` and `comment`: publish the results of a finished workflow."""

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.command.secret import read_token
from cliffwatch.failure import Exit, Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.pull_request.comment import sticky_comment
from cliffwatch.pull_request.policy import DEFAULT, FILE_NAME, Policy, read_policy
from cliffwatch_runner.ci.artifact import ArtifactName
from cliffwatch_runner.ci.github_api import API, GitHubReader
from cliffwatch_runner.ci.job_identity import NO_TOKEN, IdentityRequest, job_token, read_identity_request
from cliffwatch_runner.ci.job_log import annotation, failure_annotation, harmless
from cliffwatch_runner.ci.posting import post
from cliffwatch_runner.ci.published_results import (
    OpenPull,
    Result,
    compare_result,
    open_pull,
    results_of,
    uploading_host,
    write_origin,
)
from cliffwatch_runner.ci.reported_state import build_state
from cliffwatch_runner.ci.workflow_run import NotPublished, WorkflowRun, read_workflow_run
from cliffwatch_runner.upload.client import Client
from cliffwatch_runner.upload.result_directory import Uploaded, upload_run

_event_option = click.option(
    "--event",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="GITHUB_EVENT_PATH",
    required=True,
    help="File with GitHub's workflow_run event.",
)
_api_option = click.option(
    "--api", envvar="GITHUB_API_URL", default=API, show_default=True, help="GitHub's API."
)
_server_option = click.option(
    "--server",
    envvar="GITHUB_SERVER_URL",
    default="https://github.com",
    show_default=True,
    help="GitHub's pages.",
)


@click.command()
@_event_option
@_api_option
@_server_option
@click.option("--service", help="Service to upload the results to.")
@click.option(
    "--comment/--no-comment", "posts", default=True, help="Post comments and the check run to GitHub."
)
def publish(event: Path, api: str, server: str, service: str | None, posts: bool) -> NoReturn:
    """Publish the results of a finished workflow run: upload them, and comment on the pull request.

    Commits, branch and pull request come from the event; the artifacts are untrusted. GITHUB_TOKEN has the
    token for GitHub, and CLIFFWATCH_TOKEN that for the service. Without it, the service gives this job a
    token for the identity that GitHub signs. Exits with 2 if an artifact was refused.
    """
    run = read_workflow_run(event)
    if isinstance(run, Failure):
        raise SystemExit(_print_failure(run))
    github_token = os.environ.pop("GITHUB_TOKEN", "")
    signing = read_identity_request()
    with (
        closing(GitHubReader(api, github_token or None, run.repository)) as reader,
        tempfile.TemporaryDirectory() as folder,
    ):
        pull = open_pull(reader, run) if run.event == "pull_request" else None
        if isinstance(pull, NotPublished):
            click.echo(annotation("notice", f"nothing is published: {pull.why}"))
            raise SystemExit(Exit.DONE)
        if isinstance(pull, Failure):
            raise SystemExit(_print_failure(pull))
        results = results_of(reader, run, pull, Path(folder))
        if isinstance(results, Failure):
            raise SystemExit(_print_failure(results))
        policy = _policy(reader, run, pull)
        codes = [_print_failure(result.failure) for result in results if result.failure is not None]
        if service:
            codes += _upload(
                service, run, results, partial(write_origin, run=run, server=server, policy=policy), signing
            )
        if posts:
            codes += _post(run, pull, policy, results, server=server, api=api, token=github_token)
    raise SystemExit(max(codes, default=Exit.DONE))


def _policy(reader: GitHubReader, run: WorkflowRun, pull: OpenPull | None) -> Policy:
    """Reads the policy of the base branch.

    An invalid one has already failed the workflow, so it means the default.
    """
    text = reader.text_of(FILE_NAME, pull.base if pull is not None else run.default_branch)
    policy = read_policy(text, FILE_NAME) if isinstance(text, str) else DEFAULT
    return policy if isinstance(policy, Policy) else DEFAULT


def _upload(
    service: str,
    run: WorkflowRun,
    results: Sequence[Result],
    mark_origin: Callable[[Run], None],
    signing: IdentityRequest | None,
) -> list[Exit]:
    if not any(result.run is not None for result in results):
        return []
    stored = read_token(None)
    if isinstance(stored, Failure) and signing is not None:
        token = job_token(service, signing, fork=run.fork)
    elif isinstance(stored, Failure):
        token = NO_TOKEN
    else:
        token = stored
    if isinstance(token, Failure):
        return [_print_failure(token)]
    codes = []
    with closing(Client(service, token)) as client:
        for result in results:
            if result.run is not None:
                mark_origin(result.run)
                codes.append(_upload_result(client, service, result.run.path, uploading_host(run)))
    return codes


def _upload_result(client: Client, service: str, folder: Path, host: str) -> Exit:
    uploaded = upload_run(client, folder, host)
    if isinstance(uploaded, Uploaded) and not uploaded.refused:
        click.echo(f"uploaded: {service.rstrip('/')}/api/v1/runs/{uploaded.run}")
        return Exit.DONE
    why = "; ".join(uploaded.refused) if isinstance(uploaded, Uploaded) else uploaded.message
    refused = isinstance(uploaded, Uploaded) or not uploaded.is_temporary
    return _print_failure(
        Failure(
            whose="usage" if refused else "host",
            message=f"results were not uploaded: {why}",
            next_step="start the job again" if not refused else "check the artifact",
        )
    )


def _post(
    run: WorkflowRun,
    pull: OpenPull | None,
    policy: Policy,
    results: Sequence[Result],
    *,
    server: str,
    api: str,
    token: str,
) -> list[Exit]:
    state = build_state(run, pull, policy, results, server)
    number = None if pull is None else pull.number
    said = post(state, policy, repository=run.repository, number=number, url=api, token=token)
    for each in said:
        if not isinstance(each.came, Failure):
            click.echo(f"{each.what}: {each.came.how}")
    return [_print_failure(each.came) for each in said if isinstance(each.came, Failure)]


def _print_failure(failure: Failure) -> Exit:
    click.echo(failure_annotation(failure))
    click.echo(harmless(f"cliffwatch: {failure.message}\n  {failure.next_step}"))
    return failure.exit


@click.command()
@click.argument(
    "folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@_event_option
@_server_option
def comment(folders: tuple[Path, ...], event: Path, server: str) -> NoReturn:
    """Print the comment for result directories, and post nothing."""
    run = read_workflow_run(event)
    if isinstance(run, Failure):
        raise SystemExit(_print_failure(run))
    results = [_read_local_result(folder) for folder in folders]
    click.echo(harmless(sticky_comment(build_state(run, None, DEFAULT, results, server))))
    raise SystemExit(Exit.DONE)


def _read_local_result(folder: Path) -> Result:
    """Reads a local result directory. Its own record names the target."""
    run = read_run(folder)
    if isinstance(run, Failure):
        return Result(
            target=ArtifactName(platform="unknown", mode="icount"), run=None, compared=None, failure=run
        )
    return compare_result(ArtifactName(platform=run.record.platform, mode=run.record.mode), run)
