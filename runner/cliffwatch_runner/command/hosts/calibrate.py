"""`cliffwatch host calibrate`: measures a kernel against itself on this host, suite by suite."""

import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import msgspec
import rich_click as click

from cliffwatch.catalogue.discovery import ALL, AUTO, DISCOVERED
from cliffwatch.command.secret import read_token
from cliffwatch.command.terminal import Form, echo_failure, form_option, say
from cliffwatch.comparing.environments.calibration import calibrate as calibrate_runs
from cliffwatch.comparing.environments.calibration import calibration_lines
from cliffwatch.failure import Exit, Failure, host_failed, wrong_usage
from cliffwatch.formats.calibration import CalibrationDocument
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.samples import Accel, Mode
from cliffwatch_runner import clock, process
from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.options.measuring import (
    accel_option,
    isolation_option,
    make_request,
    mode_option,
    pin_option,
    platform_option,
    profile_option,
)
from cliffwatch_runner.command.options.suites import case_option
from cliffwatch_runner.command.options.values import seconds as parse_seconds
from cliffwatch_runner.plan.arguments import patterns_by_suite
from cliffwatch_runner.plan.run_plan import PlannedRun, plan_run
from cliffwatch_runner.run.modes.calibrated import keep_calibration
from cliffwatch_runner.upload.client import Answered, Client

_NAME = re.compile(r"(?!\.)[^/?=&\s]{1,100}")
_FILE = "calibration.json"


def _name(_: click.Context, __: click.Parameter, text: str) -> str:
    """Refuses a name that would be another address of the service."""
    if not _NAME.fullmatch(text):
        raise click.BadParameter("a host's name has no blank and none of / ? = &, and begins with no point")
    return text


@click.command()
@click.option("--tree", required=True, metavar="DIR|URL", help="Kernel tree; its HEAD is measured.")
@click.option(
    "--suite", "suites", default="all", show_default=True, help="Suites, separated by commas; or `all`."
)
@case_option
@click.option(
    "--time",
    "seconds",
    default="12h",
    show_default=True,
    callback=parse_seconds,
    help="Time for all suites, such as 90m or 12h. What is not done then is done by the same command later.",
)
@click.option(
    "--boots",
    type=click.IntRange(2, 999),
    default=12,
    show_default=True,
    help="Boots of each arm.",
)
@profile_option("Which cases, and for how long each.")
@mode_option("Mode of the runs.")
@accel_option
@platform_option
@pin_option
@isolation_option()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("cliffwatch-results/calibration"),
    show_default=True,
    metavar="DIR",
    help="Folder of the runs, one for each suite, and of calibration.json.",
)
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
@form_option("Format of the calibration.")
@click.option("--url", envvar="CLIFFWATCH_URL", help="URL of a service that stores it with the host.")
@click.option(
    "--name",
    default=socket.gethostname,
    callback=_name,
    help="Name of this host at the service; default: the hostname.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the host's token, readable only by you.",
)
def calibrate(
    suites: str, seconds: float, mode: Mode, accel: Accel, out: Path, form: Form, **options: object
) -> NoReturn:
    """Measure how much equal kernels differ on this host: HEAD of a tree against itself.

    Prints for each case the spread between boots, the largest difference of equal kernels, the smallest
    change that these boots could see, and the boots that show a change of 1 %. Exits with 0 if no difference
    of equal kernels would have been published, else with 4.
    """
    asked = {**options, "mode": mode, "accel": accel}
    planned = _plan(suites, asked)
    if isinstance(planned, Failure):
        raise SystemExit(echo_failure(planned))
    target = {"platform": planned.platform, "mode": mode}
    refused = _post(options, "calibrations/check", target) if options["url"] else None
    if isinstance(refused, Failure):
        raise SystemExit(echo_failure(refused))
    patterns = _patterns_by_suite(planned)
    runs = _measure(planned, patterns, _run_argv(asked), out, seconds)
    document = runs if isinstance(runs, Failure) else calibrate_runs(runs, tuple(patterns))
    if isinstance(document, Failure):
        raise SystemExit(echo_failure(document))
    (out / _FILE).write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2))
    keep_calibration(planned.request.cache, document)
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        for line in calibration_lines(document):
            click.echo(line)
    failed = _send(document, options) if options["url"] else None
    if isinstance(failed, Failure):
        raise SystemExit(echo_failure(failed))
    raise SystemExit(Exit.DONE if document.passed else Exit.HOST_FAILED)


def _plan(suites: str, options: Mapping[str, object]) -> PlannedRun | Failure:
    """Plans one run of all suites, which is not carried out: it shows what each suite's turn would find."""
    names = tuple(dict.fromkeys(name.strip() for name in suites.split(",") if name.strip()))
    odd = {AUTO, DISCOVERED} & set(names)
    if odd:
        return wrong_usage(
            f"--suite {min(odd)}: a kernel and itself differ in no code that could choose suites",
            f"name suites of the catalogue, or {ALL}",
        )
    taken = ("tree", "cases", "boots", "profile", "isolation", "cache", "mode", "accel", "platform", "pin")
    planned = plan_run(
        make_request(
            base="HEAD",
            head="HEAD",
            patch=None,
            suites=names,
            **{name: options[name] for name in taken},
        )
    )
    return planned[0] if isinstance(planned, tuple) else planned


def _patterns_by_suite(planned: PlannedRun) -> Mapping[str, Sequence[str]]:
    """Returns the patterns of `--case` for each suite that has such cases; all suites if there are none."""
    if not planned.request.cases:
        return {suite.name: () for suite in planned.suites}
    return patterns_by_suite(planned.request.cases, (case.key for case in planned.plan.cases))


def _run_argv(options: Mapping[str, object]) -> list[str]:
    argv = [sys.executable, "-m", "cliffwatch.command", "run", "--base", "HEAD", "--head", "HEAD"]
    for name in ("tree", "boots", "profile", "isolation", "cache", "mode", "accel"):
        argv += [f"--{name}", str(options[name])]
    pin = options["pin"]
    assert isinstance(pin, tuple)
    argv += ["--pin", ",".join(map(str, pin))] if pin else []
    return [*argv, *(["--platform", str(options["platform"])] if options["platform"] else [])]


def _measure(
    planned: PlannedRun, patterns: Mapping[str, Sequence[str]], argv: Sequence[str], out: Path, seconds: float
) -> list[Run] | Failure:
    """Measures suite after suite until the time is over.

    A suite that is complete already is not measured again, if its folder holds the very run that this command
    asks for: `cliffwatch run` decides that by the kernels, cases, plan, tools and guest.
    """
    began = clock.monotonic()
    runs = []
    for number, (name, cases) in enumerate(patterns.items(), start=1):
        folder, left = out / name, seconds - (clock.monotonic() - began)
        if left <= 0:
            say(f"the time is over before {name}: the same command goes on")
            break
        before = _complete_run(folder)
        say(f"suite {name}, {number} of {len(patterns)}")
        folder.mkdir(parents=True, exist_ok=True)
        words = [*argv, *(word for case in cases for word in ("--case", case))]
        words += ["--suite", name, "--out", str(folder)]
        ended = process.run(words, deadline=left, env=dict(os.environ), on_output=_pass_on)
        if before is not None:
            if not _is_the_same(before, planned, ended.status):
                return wrong_usage(
                    f"{folder} holds a run that this command did not make, or cannot make again",
                    "name another folder with --out, or repeat the command that made it",
                )
            say(f"suite {name} was measured on {before.record.created}: another --out measures it again")
        run = read_run(folder)
        if isinstance(run, Failure):
            say(f"suite {name}: no results: {run.message}")
        elif run.complete:
            runs.append(run)
    return runs


def _complete_run(folder: Path) -> Run | None:
    run = read_run(folder)
    return None if isinstance(run, Failure) or not run.complete else run


def _is_the_same(run: Run, planned: PlannedRun, status: int) -> bool:
    """True if `cliffwatch run` took the complete run in a folder for its own, and ended with this status.

    It also ends with the kernel's failure if cases failed, or if a newer kernel does not build.
    """
    commits = {arm.revision.commit for arm in planned.subjects if arm.revision is not None}
    same_kernel = {arm.facts.get("commit") for arm in run.arms.values()} == commits
    return status == Exit.DONE or (status == Exit.KERNEL_FAILED and same_kernel)


def _pass_on(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _post(options: Mapping[str, object], path: str, body: object) -> Answered | Failure:
    """Sends something about this host to the service, with the host's token."""
    file = options["token_file"]
    token = read_token(file if isinstance(file, Path) else None)
    if isinstance(token, Failure):
        return token
    client = Client(str(options["url"]), token)
    try:
        return client.post(f"/hosts/{options['name']}/{path}", body)
    finally:
        client.close()


def _send(document: CalibrationDocument, options: Mapping[str, object]) -> Failure | None:
    reply = _post(options, "calibrations", as_json(document))
    if isinstance(reply, Failure):
        return host_failed(f"not stored: {reply.message}", f"{reply.next_step}; {_FILE} has the calibration")
    say(f"stored with {options['name']} at {options['url']}")
    return None
