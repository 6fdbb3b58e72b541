"""`cliffwatch submit`: asks a service to measure, follows the jobs and prints the report."""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
import rich_click as click
from rich.console import Console

from cliffwatch.command import terminal
from cliffwatch.command.secret import read_token
from cliffwatch.command.terminal import echo_failure
from cliffwatch.comparing.attribution.blocks import TITLE, function_blocks, more_cases, text_lines
from cliffwatch.comparing.attribution.documents import functions_of_document
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.counting import count_noun
from cliffwatch.failure import Exit, Failure, Party, wrong_usage
from cliffwatch.formats.comparison import RunComparison
from cliffwatch.formats.reading import as_json, convert_to
from cliffwatch.formats.setup import Setup, SetupArm
from cliffwatch.formats.values import FreeJson, Part
from cliffwatch.formats.work import DEFAULT_PRIORITY, PRIORITIES, WATCH, AskedWork, Target
from cliffwatch.parsers.readings import Problem
from cliffwatch.reports import figures
from cliffwatch.reports.context import NO_CONTEXT, describe_measurement
from cliffwatch.reports.json_reading import arm_sets_of
from cliffwatch.reports.legend import placement_sentences
from cliffwatch.reports.several.arms import text_of_arms
from cliffwatch.reports.styles import plain
from cliffwatch.samples import DEFAULT_BOOTS, DEFAULT_MODE, PROFILES, SERVICE_PROFILE, parse_target
from cliffwatch_runner.command.options.arms import arm_options, take_arms, take_range, two_arms
from cliffwatch_runner.command.options.measuring import layouts_option, matched_option, time_option
from cliffwatch_runner.command.options.suites import suite_options, take_suites
from cliffwatch_runner.command.sending.ends import resolve_commit, resolve_ends
from cliffwatch_runner.upload.answers import Events, Job, JobQueue, MadeRequest
from cliffwatch_runner.upload.client import Answered, Client, Reply
from cliffwatch_runner.upload.setup_files import LocalSetup, collect_setup

_LOOK_EVERY = 2.0
P = TypeVar("P", bound=Part)

_ENDED = ("done", "failed", "cancelled", "parked")


@click.command()
@click.argument("revisions", metavar="[BASE..HEAD]", required=False)
@click.option("--url", envvar="CLIFFWATCH_URL", required=True, help="URL of the service.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the token, readable only by you.",
)
@click.option("--tree", required=True, help="Kernel tree: URL of a git repository that the hosts can reach.")
@arm_options
@click.option(
    "--on",
    "targets",
    multiple=True,
    required=True,
    metavar="PLATFORM[:MODE]",
    help=f"Target to measure on, in {DEFAULT_MODE} if no mode is named; may be repeated.",
)
@suite_options
@click.option("--build-image", help="Container image to build in; hosts of the targets must offer it.")
@click.option("--profile", type=click.Choice(PROFILES), default=SERVICE_PROFILE, show_default=True)
@click.option(
    "--boots", default=DEFAULT_BOOTS, show_default=True, help="Boots per kernel, as for `cliffwatch run`."
)
@layouts_option
@matched_option
@time_option
@click.option(
    "--priority",
    type=click.Choice([each for each in PRIORITIES if each != WATCH]),
    default=DEFAULT_PRIORITY,
    show_default=True,
)
@click.option(
    "--key",
    help="Idempotency key: the service takes a key once. Default: a digest of the request and today's date.",
)
@click.option(
    "--only-affected",
    is_flag=True,
    help="Measure only the cases that the change can affect, on hosts with function counts of the cases "
    "(icount, followed branches).",
)
@click.option("--detach", is_flag=True, help="Do not wait for the jobs of the request.")
def submit(url: str, token_file: Path | None, detach: bool, key: str | None, **options: Any) -> NoReturn:
    """Ask a service to measure BASE..HEAD, or any arms, on its hosts, and print the comparison.

    The request includes patches, your own suites and data, up to 4 MiB in total.
    """
    console = terminal.console(stderr=True, soft_wrap=True)
    token = read_token(token_file)
    if isinstance(token, Failure):
        raise SystemExit(echo_failure(token))
    take_range(options)
    work = _work(options)
    if isinstance(work, Failure):
        raise SystemExit(echo_failure(work))
    if work.note:
        console.print(work.note, markup=False)
    body = as_json(work)
    key = (
        key
        or hashlib.sha256(json.dumps([body, time.strftime("%Y-%m-%d")], sort_keys=True).encode()).hexdigest()[
            :32
        ]
    )
    client = Client(url, token)
    try:
        request = _parse_answer(client.post("/requests", body, key=key), MadeRequest)
        console.print(f"request {request.request}, {count_noun(len(request.jobs), 'job')}")
        for warning in request.warnings:
            console.print(f"warning: {warning}", style="yellow", markup=False)
        if not detach:
            jobs = [_follow(client, job.job, console) for job in request.jobs]
            raise SystemExit(_report(client, jobs, _pages(client.url, work, jobs), console))
    finally:
        client.close()
    raise SystemExit(Exit.DONE)


def _work(options: FreeJson) -> AskedWork | Failure:
    """Builds the request from the options."""
    arms = take_arms(options)
    if isinstance(arms, Failure):
        return arms
    suites, folders = take_suites(options)
    tree, chosen = options["tree"], ""
    if not arms:
        ends = resolve_ends(tree, options)
        if isinstance(ends, Failure):
            return ends
        chosen, arms = ends.sentence, two_arms(options, ends.base, ends.head)
    if isinstance(arms, Failure):
        return arms
    brought = LocalSetup(
        arms=arms,
        shapes=options["shapes"],
        suites=folders,
        bench_args=options["bench_args"],
        data=options["data"],
        build_image=options["build_image"],
        **{name: options[name] for name in ("only_affected", "layouts", "matched", "seconds")},
    )
    parcel = collect_setup(brought, cache(partial(resolve_commit, tree)))
    if isinstance(parcel, Failure):
        return parcel
    setup, contents = parcel
    base = head = None
    if _are_two_revisions(setup):
        base, head = setup.arms[0].rev, setup.arms[1].rev
        setup = msgspec.structs.replace(setup, arms=())
    work = AskedWork(
        **{name: options[name] for name in ("tree", "profile", "boots", "priority")},
        base=base,
        head=head,
        targets=tuple(_target(target) for target in options["targets"]),
        suites=suites,
        note=chosen,
        setup=setup,
        contents=contents,
    )
    checked = convert_to(as_json(work), AskedWork)
    return (
        wrong_usage(f"the request is invalid: {checked}", "correct the option and try again")
        if isinstance(checked, Problem)
        else work
    )


def _are_two_revisions(setup: Setup) -> bool:
    """True if the arms are plain base and head, so the request needs no setup for them."""
    plain = [SetupArm(name=arm.name, rev=arm.rev) for arm in setup.arms]
    return list(setup.arms) == plain and [arm.name for arm in plain] == ["base", "head"]


def _pages(url: str, work: AskedWork, jobs: Sequence[Job]) -> list[str]:
    """Returns the URLs of the comparison: one page for all targets of two revisions, else one per run."""
    if work.base is not None and work.head is not None:
        return [f"{url}/compare/{work.base[:12]}...{work.head[:12]}"]
    return [f"{url}/compare/{job.run}" for job in jobs if job.run is not None]


def _target(text: str) -> Target:
    target = parse_target(text)
    if target is None:
        raise click.BadParameter(f"{text!r} is not a target: write PLATFORM:MODE, such as amd-rome:walltime")
    platform, mode = target
    return Target(platform=platform, mode=mode)


def _parse_answer(reply: Reply, kind: type[P]) -> P:
    if isinstance(reply, Answered):
        answer = convert_to(reply.body, kind)
        if not isinstance(answer, Problem):
            return answer
        raise SystemExit(
            _print_failure("host", f"the answer of the service is not as expected: {answer}", "check the URL")
        )
    said = reply.message if reply.is_temporary else f"the service refused: {reply.message}"
    raise SystemExit(_print_failure(reply.whose, said, reply.next_step))


def _follow(client: Client, job: str, console: Console) -> Job:
    """Prints a job's events as they come. Returns the job once it has ended."""
    last_event = 0
    printed = ""
    while True:
        whole = _parse_answer(client.get(f"/jobs/{job}"), Job)
        for event in _parse_answer(client.get(f"/jobs/{job}/events", after=last_event), Events).items:
            last_event = event.id
            text = event.data.get("text") or " ".join(str(value) for value in event.data.values() if value)
            console.print(f"{whole.platform} {event.kind:9} {text}", markup=False)
        if whole.state in _ENDED:
            return whole
        printed = _print_position(client, job, printed, console)
        time.sleep(_LOOK_EVERY)


def _print_position(client: Client, job: str, printed: str, console: Console) -> str:
    """Prints the queue position of a waiting job when it changes. Returns the text that was printed last."""
    rows = _parse_answer(client.get("/queue"), JobQueue).items
    expected = next((row.expected for row in rows if row.job == job), None)
    if expected is None or not expected.position:
        return printed
    seconds = expected.seconds
    when = (
        f"done in about {count_noun(max(1, round(seconds / 60)), 'minute')}"
        if seconds is not None
        else "duration unknown"
    )
    text = f"position {expected.position} in the queue, {count_noun(expected.hosts, 'host')} at work, {when}"
    if text != printed:
        console.print(text)
    return text


def _report(client: Client, jobs: Sequence[Job], pages: Sequence[str], console: Console) -> Exit:
    """Prints the comparisons and the URLs of their pages. Returns the exit status of the worst job."""
    for job in jobs:
        if job.state != "done":
            console.print(
                f"{job.platform} {job.mode}: {job.state}: {job.reason or 'no reason given'}", markup=False
            )
    if any(job.state == "done" for job in jobs):
        for compared in _load_comparisons(client, jobs):
            _print_comparison(compared)
        for page in pages:
            click.echo(page)
    return _worst(jobs)


def _worst(jobs: Sequence[Job]) -> Exit:
    """Returns the exit status of the worst job."""
    states = {job.state for job in jobs}
    whose = {job.whose for job in jobs if job.state == "failed"}
    if whose - {"usage"}:
        return Exit.KERNEL_FAILED
    if states - {"done", "failed"}:
        return Exit.HOST_FAILED
    return Exit.USAGE if whose else Exit.DONE


def _print_comparison(compared: RunComparison) -> None:
    """Prints the primary rows of base and head; for other arms, the matrix and each arm's report."""
    functions = functions_of_document(compared.functions)
    if [arm.name for arm in compared.arms] != ["base", "head"]:
        context = replace(NO_CONTEXT, chosen=compared.chosen, functions=functions)
        text = text_of_arms(arm_sets_of(compared), context, colour=False, all_metrics=False)
        click.echo(text, nl=False)
        return
    for text in (*compared.chosen, *dict.fromkeys(each.text for each in compared.warnings)):
        click.echo(plain(text))
    for row in compared.comparisons:
        if row.primary:
            change = "~" if row.change is None else f"{row.change:+.2%}"
            case = "/".join([row.benchmark, *(f"{name}={value}" for name, value in row.params.items())])
            click.echo(f"{row.platform or '':16} {case:60} {change:>9}  {row.verdict}")
    (of_head,) = arm_sets_of(compared)
    for text in (*_about(of_head), *compared.notes):
        click.echo(plain(text))
    blocks, left = function_blocks(of_head, functions) if functions else ((), 0)
    lines = [line for block in blocks for line in text_lines(block)]
    for line in (f"{TITLE}:", *lines, *([f"  {more_cases(left)}"] if left else [])) if blocks else ():
        click.echo(plain(line))


def _about(compared: ComparisonSet) -> Iterator[str]:
    """Yields how base and head were measured, the check of base against itself, and what is known of rows."""
    yield describe_measurement(compared, NO_CONTEXT)
    if compared.control is not None:
        yield figures.control(compared.control)
    yield from placement_sentences(compared.primary_rows())
    for cases, note in figures.shared_notes(compared.primary_rows()):
        yield f"{figures.shorten_names(cases)}: {note}"


def _load_comparisons(client: Client, jobs: Sequence[Job]) -> Iterator[RunComparison]:
    """Yields the comparisons of the jobs' runs.

    Waits for the analysis, which ends seconds after the last boot.
    """
    for job in jobs:
        if job.run is None:
            continue
        for _ in range(60):
            reply = client.get(f"/runs/{job.run}/comparison")
            if isinstance(reply, Answered):
                yield _parse_answer(reply, RunComparison)
                break
            time.sleep(0.5)


def _print_failure(whose: Party, message: str, next_step: str) -> Exit:
    return echo_failure(Failure(whose=whose, message=message, next_step=next_step))
