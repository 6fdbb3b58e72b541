"""`cliffwatch submit`: asks a service to measure, and follows to the report."""

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import rich_click as click
from rich.console import Console

from cliffwatch.command import terminal
from cliffwatch.command.terminal import echo_failure
from cliffwatch.counting import counted
from cliffwatch.failure import Exit, Failure, Party
from cliffwatch.formats.comparison import ComparisonRow, RunComparison
from cliffwatch.formats.reading import Wrong, converted
from cliffwatch.formats.values import Part
from cliffwatch.tree_addresses import has_credentials
from cliffwatch_runner.source.access import fetching
from cliffwatch_runner.source.git import git
from cliffwatch_runner.upload.answers import Events, Job, JobQueue, MadeRequest
from cliffwatch_runner.upload.client import Answered, Client, Refused, Reply
from cliffwatch_runner.worker.secret import read_token

_LOOK_EVERY = 2.0
P = TypeVar("P", bound=Part)

_ENDED = ("done", "failed", "cancelled", "parked")


@click.command()
@click.option("--url", envvar="CLIFFWATCH_URL", required=True, help="Address of the service.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the token, readable by you alone.",
)
@click.option("--tree", required=True, help="Kernel tree: URL of a git repository that the hosts can reach.")
@click.option("--base", required=True, help="Revision to compare with: branch, tag or whole commit.")
@click.option("--head", required=True, help="Revision with the change: branch, tag or whole commit.")
@click.option(
    "--on",
    "targets",
    multiple=True,
    required=True,
    metavar="PLATFORM:MODE",
    help="Target to measure on; may be repeated.",
)
@click.option("--suite", "suites", default="local-storage", show_default=True, help="Suites, with commas between them.")
@click.option("--profile", type=click.Choice(["smoke", "standard", "full"]), default="standard", show_default=True)
@click.option("--boots", default="auto", show_default=True, help="Boots per kernel, as of `cliffwatch run`.")
@click.option("--priority", type=click.Choice(["person", "push", "backfill"]), default="person", show_default=True)
@click.option(
    "--key", help="Key under which the service takes the request once; default: a digest of it and of today's date."
)
@click.option("--detach", is_flag=True, help="Request alone, without waiting for its jobs.")
def submit(url: str, token_file: Path | None, detach: bool, key: str | None, **options: Any) -> NoReturn:
    """Ask a service to measure base..head on its hosts, and print the comparison."""
    console = terminal.console(stderr=True, soft_wrap=True)
    token = read_token(token_file)
    if isinstance(token, Failure):
        raise SystemExit(echo_failure(token))
    base, head = (_commit(options["tree"], options[side]) for side in ("base", "head"))
    body = {
        **{name: options[name] for name in ("tree", "profile", "boots", "priority")},
        "base": base,
        "head": head,
        "targets": [_target(target) for target in options["targets"]],
        "suites": [name.strip() for name in options["suites"].split(",") if name.strip()],
    }
    key = key or hashlib.sha256(json.dumps([body, time.strftime("%Y-%m-%d")], sort_keys=True).encode()).hexdigest()[:32]
    client = Client(url, token)
    try:
        request = _answered(client.post("/requests", body, key=key), MadeRequest)
        console.print(f"request {request.request}, {counted(len(request.jobs), 'job')}")
        for warning in request.warnings:
            console.print(f"warning: {warning}", style="yellow", markup=False)
        if not detach:
            jobs = [_follow(client, job.job, console) for job in request.jobs]
            page = f"{client.url}/compare/{base[:12]}...{head[:12]}"
            raise SystemExit(_report(client, jobs, page, console))
    finally:
        client.close()
    raise SystemExit(Exit.DONE)


def _target(text: str) -> dict[str, str]:
    platform, colon, mode = text.rpartition(":")
    if not colon or mode not in ("walltime", "icount"):
        raise click.BadParameter(f"{text!r} is no target: write PLATFORM:MODE, such as amd-rome:walltime")
    return {"platform": platform, "mode": mode}


def _commit(tree: str, name: str) -> str:
    if has_credentials(tree):
        raise SystemExit(
            _failed(
                "usage",
                "the address of the tree carries credentials",
                "name it without them: hosts fetch what anybody may, or what an administrator allows",
            )
        )
    if len(name) == 40 and all(letter in "0123456789abcdef" for letter in name):
        return name
    reach = fetching(tree, "own")
    if isinstance(reach, Failure):
        raise SystemExit(echo_failure(reach))
    listed = git(["ls-remote", "--", reach.url, name, f"{name}^{{}}"], fetching=reach)
    rows = [line.split("\t") for line in listed.output.splitlines() if "\t" in line] if listed.ok else []
    if not rows:
        raise SystemExit(_failed("usage", f"{tree} has no {name!r}", "name a branch, a tag or a whole commit"))
    return next((row[0] for row in rows if row[1].endswith("^{}")), rows[0][0])


def _answered(reply: Reply, kind: type[P]) -> P:
    if isinstance(reply, Answered):
        answer = converted(reply.body, kind)
        if not isinstance(answer, Wrong):
            return answer
        raise SystemExit(_failed("host", f"the service answers with something else: {answer}", "look at its address"))
    if isinstance(reply, Refused):
        whose: Party = "usage" if reply.status < 500 else "host"
        raise SystemExit(_failed(whose, f"the service refuses: {reply.detail}", "change the request and ask again"))
    raise SystemExit(_failed("host", reply.reason, "ask again when the service answers"))


def _follow(client: Client, job: str, console: Console) -> Job:
    """Prints a job's events as they come; the job as it is at its end."""
    last_event = 0
    printed = ""
    while True:
        whole = _answered(client.get(f"/jobs/{job}"), Job)
        for event in _answered(client.get(f"/jobs/{job}/events", after=last_event), Events).items:
            last_event = event.id
            text = event.data.get("text") or " ".join(str(value) for value in event.data.values() if value)
            console.print(f"{whole.platform} {event.kind:9} {text}", markup=False)
        if whole.state in _ENDED:
            return whole
        printed = _print_position(client, job, printed, console)
        time.sleep(_LOOK_EVERY)


def _print_position(client: Client, job: str, printed: str, console: Console) -> str:
    """The position of a waiting job in the queue, printed when it changes; the text that was printed last."""
    rows = _answered(client.get("/queue"), JobQueue).items
    expected = next((row.expected for row in rows if row.job == job), None)
    if expected is None or not expected.position:
        return printed
    seconds = expected.seconds
    when = (
        f"done in about {counted(max(1, round(seconds / 60)), 'minute')}" if seconds is not None else "duration unknown"
    )
    text = f"position {expected.position} in the queue, {counted(expected.hosts, 'host')} at work, {when}"
    if text != printed:
        console.print(text)
    return text


def _report(client: Client, jobs: Sequence[Job], page: str, console: Console) -> Exit:
    """The comparison of what was measured, as text, and the address of its page; the exit status of the worst job."""
    for job in jobs:
        if job.state != "done":
            console.print(f"{job.platform} {job.mode}: {job.state}: {job.reason or 'no reason given'}", markup=False)
    if any(job.state == "done" for job in jobs):
        for row in _compared(client, jobs):
            change = "~" if row.change is None else f"{row.change:+.2%}"
            case = "/".join([row.benchmark, *(f"{name}={value}" for name, value in row.params.items())])
            click.echo(f"{row.platform or '':16} {case:60} {change:>9}  {row.verdict}")
        click.echo(page)
    states = {job.state for job in jobs}
    if states <= {"done"}:
        return Exit.DONE
    return Exit.KERNEL_FAILED if "failed" in states else Exit.HOST_FAILED


def _compared(client: Client, jobs: Sequence[Job]) -> list[ComparisonRow]:
    """Primary rows of the runs of these jobs; the analysis follows the last boot by a second or two."""
    rows: list[ComparisonRow] = []
    for job in jobs:
        if job.run is None:
            continue
        for _ in range(60):
            reply = client.get(f"/runs/{job.run}/comparison")
            if isinstance(reply, Answered):
                rows += [row for row in _answered(reply, RunComparison).comparisons if row.primary]
                break
            time.sleep(0.5)
    return rows


def _failed(whose: Party, message: str, next_step: str) -> Exit:
    return echo_failure(Failure(whose=whose, message=message, next_step=next_step))
