"""Options that all commands with a report share."""

import functools
import math
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import rich_click as click

from cliffwatch.command.terminal import echo_failure, wants_no_colour
from cliffwatch.comparing.thresholds import COUNTED, NOISY
from cliffwatch.failure import Failure, wrong_usage

if TYPE_CHECKING:
    from cliffwatch.reports.mail.reply import Reply

Colour = Literal["auto", "always", "never"]
ReportFormat = Literal["text", "commit", "markdown", "mail", "json", "html", "benchstat", "go-bench"]
FORMATS: tuple[ReportFormat, ...] = (
    "text",
    "commit",
    "markdown",
    "mail",
    "json",
    "html",
    "benchstat",
    "go-bench",
)
FAIL_ON = ("regression", "changed", "failed", "missing", "inconclusive")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The options of a report."""

    format: ReportFormat
    out: Path | None
    """File to write to; None for standard output."""
    fail_on: frozenset[str]
    """Verdicts that make the command end with 1."""
    notable: float | None
    """Threshold as a fraction; None for the default."""
    all_metrics: bool
    explain: str | None
    """Pattern of the cases to explain; None for an ordinary report."""
    colour: Colour
    reply: "Reply | None" = None
    """The mail to reply to; None if the report is not a reply."""
    varying: tuple[str, ...] = ()
    """The only facts that may differ between the sides. If empty, the environments are not checked."""


def terminal_of(report: ReportOptions) -> tuple[bool, int]:
    """Returns whether a report has colours, and its width in columns."""
    on_terminal = report.out is None and sys.stdout.isatty()
    colour = report.colour == "always" or (report.colour == "auto" and on_terminal and not wants_no_colour())
    return colour, max(72, shutil.get_terminal_size((140, 40)).columns) if on_terminal else 140


def no_case_matches(pattern: str) -> Failure:
    return wrong_usage(f"no case matches '{pattern}'", "a part of a name will do, or one with *")


def _reply(in_reply_to: str | None, mail_from: str | None, format_: ReportFormat) -> "Reply | None":
    """Reads the options of a reply; None if there are none. Ends the command if they are wrong."""
    if in_reply_to is None and mail_from is None:
        return None
    from cliffwatch.reports.mail.reply import read_reply  # noqa: PLC0415 - of mails alone

    reply = (
        read_reply(in_reply_to or "", mail_from or "")
        if format_ == "mail"
        else wrong_usage("--in-reply-to and --mail-from are of a mail", "add --format mail")
    )
    if not isinstance(reply, Failure):
        return reply
    raise SystemExit(echo_failure(reply))


def _number(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("give a number of per cent, such as 0.5")
    return value


def refuse_unwritable(path: Path | None, option: str) -> None:
    """Ends the command at once if it could not write the file of `option` at the end."""
    unwritable = None if path is None else _find_unwritable(path)
    if unwritable is not None:
        raise SystemExit(
            echo_failure(
                wrong_usage(f"{option}: {unwritable}", "name a file in a folder that you may write to")
            )
        )


def _find_unwritable(path: Path) -> str | None:
    """Says why a file cannot be written; None if it can.

    Tries to write, because permissions alone do not decide. Leaves no file behind.
    """
    from tempfile import TemporaryFile  # noqa: PLC0415 - for reports into files alone

    try:
        if path.is_file():
            path.open("ab").close()
        elif not path.exists():
            TemporaryFile(dir=path.parent).close()
        elif path.is_dir() or not os.access(path, os.W_OK):
            return f"{path} is no file that can be written"
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return None


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which gets them as one `report` argument."""

    @click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="Format of the report.",
    )
    @click.option(
        "--report-out", type=click.Path(path_type=Path, dir_okay=False), help="File to write the report to."
    )
    @click.option(
        "--fail-on",
        multiple=True,
        type=click.Choice(FAIL_ON),
        help="Verdict that makes the command end with 1.",
    )
    @click.option(
        "--threshold",
        "notable",
        type=click.FloatRange(0, 100),
        callback=_number,
        metavar="PERCENT",
        help=(
            f"Smallest change that is reported; default {100 * COUNTED:g} in icount,"
            f" {100 * NOISY:g} in walltime."
        ),
    )
    @click.option(
        "--varying",
        multiple=True,
        metavar="NAME[,NAME]",
        help=(
            "What alone may differ between the sides, such as kernel or cpu: any other difference that is"
            " known refuses the comparison."
        ),
    )
    @click.option("--all-metrics", is_flag=True, help="Secondary metrics of each case too.")
    @click.option(
        "--in-reply-to",
        metavar="MESSAGE-ID",
        help=(
            "Mail that --format mail replies to, by its Message-ID or its address at lore; the report is a"
            " whole .eml."
        ),
    )
    @click.option(
        "--mail-from", metavar="ADDRESS", help="Sender of the reply, such as 'A B <ab@example.org>'."
    )
    @click.option("--explain", metavar="CASE", help="Steps to the verdict of the cases that match.")
    @click.option(
        "--color",
        "colour",
        type=click.Choice(get_args(Colour)),
        default="auto",
        show_default=True,
        help="Colour of the text report.",
    )
    @functools.wraps(command)
    def with_report(
        *,
        format_: ReportFormat,
        report_out: Path | None,
        fail_on: tuple[str, ...],
        notable: float | None,
        varying: tuple[str, ...],
        all_metrics: bool,
        explain: str | None,
        in_reply_to: str | None,
        mail_from: str | None,
        colour: Colour,
        **rest: Any,
    ) -> Any:
        reply = _reply(in_reply_to, mail_from, format_)
        refuse_unwritable(report_out, "--report-out")
        report = ReportOptions(
            format=format_,
            out=report_out,
            fail_on=frozenset(fail_on),
            notable=None if notable is None else notable / 100,
            all_metrics=all_metrics,
            explain=explain,
            colour=colour,
            reply=reply,
            varying=tuple(name.strip() for names in varying for name in names.split(",") if name.strip()),
        )
        return command(report=report, **rest)

    return with_report
