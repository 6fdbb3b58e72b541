"""Options for the cache folder and for sizes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import rich_click as click

from cliffwatch.counting import parse_size

_Command = TypeVar("_Command", bound=Callable[..., object])


def default_cache() -> Path:
    """Returns cliffwatch/ in XDG's cache folder, or else in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cliffwatch"


def cache_option(help_text: str) -> Callable[[_Command], _Command]:
    """Adds `--cache`. The command gets an absolute path."""

    def whole(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
        return (value or default_cache()).expanduser().resolve()

    return click.option(
        "--cache",
        type=click.Path(path_type=Path, file_okay=False),
        callback=whole,
        metavar="DIR",
        help=help_text,
    )


class Size(click.ParamType[int]):
    """A size such as 20G."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        size = value if isinstance(value, int) else parse_size(value)
        if size is None:
            self.fail(f"{value!r} is not a size: give one such as 20G or 500M", param, ctx)
        return size
