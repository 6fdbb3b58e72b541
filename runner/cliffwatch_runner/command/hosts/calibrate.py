"""`cliffwatch host calibrate`: measures a kernel against itself on this host, suite by suite."""

import os
import re
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec
import rich_click as click

from cliffwatch.catalogue.load import load_catalogue
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
    mode_option,
    profile_option,
)
from cliffwatch_runner.command.options.suites import case_option
from cliffwatch_runner.plan.arguments import accel_problem
from cliffwatch_runner.source.tree import open_tree
from cliffwatch_runner.upload.client import Client

_DURATION = re.compile(r"(\d{1,6}(?:\.\d+)?)(m|h)")
_NAME = re.compile(r"(?!\.)[^/?=&\s]{1,100}")
_FILE = "calibration.json"


def _seconds(_: click.Context, __: click.Parameter, text: str) -> float:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise click.BadParameter("give minutes or hours, such as 90m or 12h")
    return float(found[1]) * (60 if found[2] == "m" else 3600)


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
    callback=_seconds,
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
    wrong = next(accel_problem(accel, mode, None), None)
    if wrong is not None:
        raise SystemExit(echo_failure(wrong))
    names = _suite_names(suites)
    for amiss in (_tree_problem(options), _token(options) if options["url"] else None):
        if isinstance(amiss, Failure):
            raise SystemExit(echo_failure(amiss))
    fixed = ["--mode", mode, *(["--accel", accel] if mode == "walltime" else [])]
    runs = _measure(names, [*_run_argv(options), *fixed], out, seconds)
    document = calibrate_runs(runs, names)
    if isinstance(document, Failure):
        raise SystemExit(echo_failure(document))
    (out / _FILE).write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2))
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        for line in calibration_lines(document):
            click.echo(line)
    failed = _send(document, options) if options["url"] else None
    if failed is not None:
        raise SystemExit(echo_failure(failed))
    raise SystemExit(Exit.DONE if document.passed else Exit.HOST_FAILED)


def _suite_names(text: str) -> tuple[str, ...]:
    """Returns the names of the suites. Ends the command if the catalogue lacks one."""
    known = tuple(suite.name for suite in load_catalogue().suites)
    names = known if text == "all" else tuple(dict.fromkeys(filter(None, text.split(","))))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(
            echo_failure(wrong_usage(f"no suite {', '.join(unknown)}", "see `cliffwatch suites list`"))
        )
    return names


def _run_argv(options: dict[str, object]) -> list[str]:
    argv = [sys.executable, "-m", "cliffwatch.command", "run", "--base", "HEAD", "--head", "HEAD"]
    for name in ("tree", "boots", "profile", "isolation", "cache"):
        argv += [f"--{name}", str(options[name])]
    cases = options["cases"]
    assert isinstance(cases, tuple)
    for case in cases:
        argv += ["--case", case]
    return argv


def _measure(names: Sequence[str], argv: Sequence[str], out: Path, seconds: float) -> list[Run]:
    """Measures suite after suite until the time is over. What is complete already is not measured again."""
    began = clock.monotonic()
    runs = []
    for number, name in enumerate(names, start=1):
        folder, left = out / name, seconds - (clock.monotonic() - began)
        if not _is_complete(folder):
            if left <= 0:
                say(f"the time is over before {name}: the same command goes on")
                break
            say(f"suite {name}, {number} of {len(names)}")
            folder.mkdir(parents=True, exist_ok=True)
            words = [*argv, "--suite", name, "--out", str(folder)]
            process.run(words, deadline=left, env=dict(os.environ), on_output=_pass_on)
        run = read_run(folder)
        if isinstance(run, Failure):
            say(f"suite {name}: no results: {run.message}")
        elif run.complete:
            runs.append(run)
    return runs


def _is_complete(folder: Path) -> bool:
    run = read_run(folder)
    return not isinstance(run, Failure) and run.complete


def _pass_on(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _tree_problem(options: dict[str, object]) -> Failure | None:
    """Says why no suite could be measured in the tree, which would take each suite's turn to find."""
    tree = open_tree(str(options["tree"]), Path(str(options["cache"])), "own")
    head = tree if isinstance(tree, Failure) else tree.resolve("HEAD")
    return head if isinstance(head, Failure) else None


def _token(options: dict[str, object]) -> str | Failure:
    file = options["token_file"]
    return read_token(file if isinstance(file, Path) else None)


def _send(document: CalibrationDocument, options: dict[str, object]) -> Failure | None:
    token = _token(options)
    if isinstance(token, Failure):
        return token
    client = Client(str(options["url"]), token)
    try:
        reply = client.post(f"/hosts/{options['name']}/calibrations", as_json(document))
    finally:
        client.close()
    if isinstance(reply, Failure):
        return host_failed(f"not stored: {reply.message}", f"{reply.next_step}; {_FILE} has the calibration")
    say(f"stored with {options['name']} at {options['url']}")
    return None
