"""Parsers for option values of `cliffwatch run`."""

from pathlib import Path
from typing import Literal

import rich_click as click

from cliffwatch.stats.stages import ADAPTIVE, CAREFUL, Stages


def numbers(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter("give CPU numbers separated by commas, such as 2,3") from None


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


_STAGES = {"auto": None, "staged": ADAPTIVE, "careful": CAREFUL}


def boots(_: click.Context, __: click.Parameter, value: str) -> int | Stages | None:
    if value in _STAGES:
        return _STAGES[value]
    if not value.isdigit() or not 1 <= int(value) <= 1000:
        raise click.BadParameter(f"give a number from 1 to 1000, or one of {', '.join(_STAGES)}")
    return int(value)
