"""Parsers for option values of `cliffwatch run`."""

import re
from pathlib import Path
from typing import Literal, cast

import rich_click as click

from cliffwatch.command.numbers import FiniteRange
from cliffwatch.formats.setup import TIME_CHOICES, parse_time
from cliffwatch.samples import BOOTS_CHOICES, BOOTS_PATTERN, BootsWord
from cliffwatch.stats.stages import Stages
from cliffwatch_runner.plan.request import STAGES_OF_WORDS

_CPU = re.compile(r"[0-9]{1,5}")


def numbers(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...]:
    parts = [part.strip() for part in value.split(",")] if value else []
    if not all(map(_CPU.fullmatch, parts)):
        raise click.BadParameter("give CPU numbers separated by commas, such as 2,3")
    return tuple(map(int, parts))


def counts(_: click.Context, __: click.Parameter, value: str | None) -> Path | Literal["kept"] | None:
    if value is None:
        return None
    if value == "kept":
        return "kept"
    if not Path(value).is_dir():
        raise click.BadParameter(
            f"{value} is not a result directory; leave it out to use the counts in the cache"
        )
    return Path(value)


def seconds(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    time = parse_time(value.strip())
    if time is None:
        raise click.BadParameter(f"{value!r} is no time: give {TIME_CHOICES}")
    return time


_BOOTS = re.compile(BOOTS_PATTERN)


def boots(_: click.Context, __: click.Parameter, value: str) -> int | Stages | None:
    if value in STAGES_OF_WORDS:
        return STAGES_OF_WORDS[cast("BootsWord", value)]
    if not _BOOTS.fullmatch(value):
        raise click.BadParameter(f"give {BOOTS_CHOICES}")
    return int(value)


hours_option = click.option(
    "--hours",
    type=FiniteRange(0.01, 240),
    default=8.0,
    show_default=True,
    help="Time limit of a job, in hours.",
)
