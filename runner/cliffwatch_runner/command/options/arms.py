"""Options of `cliffwatch run` for its arms: base and head, or any number of arms."""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click
from msgspec.structs import replace

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.parsers.received.opening import STANDARD_INPUT, read_content
from cliffwatch_runner.plan.arms import ArmRequest, parse_arms, read_arms


class GivenFile(click.Path):
    """A regular file, a pipe or `-`.

    The uncompressed content of a pipe is kept in a file until the program ends, because it is read more than
    once.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path, exists=True, dir_okay=False, allow_dash=True)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        kept = keep_pipe(Path(super().convert(value, param, ctx)))  # type: ignore[arg-type]
        if isinstance(kept, Failure):
            self.fail(str(kept), param, ctx)
        return kept


def keep_pipe(path: Path) -> Path | Failure:
    """Returns the file itself, or a file with the content of the pipe or `-`.

    A missing path is returned unchanged, for the reader to report.
    """
    if str(path) != STANDARD_INPUT and (path.is_file() or path.is_dir() or not path.exists()):
        return path
    content = read_content(path)
    if isinstance(content, Failure):
        return content
    kept = Path(tempfile.mkdtemp(dir=_folder())) / ("stdin" if str(path) == STANDARD_INPUT else path.name)
    kept.write_bytes(content)
    return kept


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="cliffwatch-given-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


F = TypeVar("F", bound=Callable[..., Any])


def _arms(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[ArmRequest, ...]:
    arms: list[ArmRequest] = []
    for value in values:
        parsed = parse_arms(value)
        if isinstance(parsed, Failure):
            raise click.BadParameter(str(parsed))
        arms += map(_with_kept_pipes, parsed)
    return tuple(arms)


def _with_kept_pipes(arm: ArmRequest) -> ArmRequest:
    kept = [keep_pipe(path) for path in (*arm.patch, *((arm.series,) if arm.series else ()))]
    for each in kept:
        if isinstance(each, Failure):
            raise click.BadParameter(str(each))
    paths = tuple(path for path in kept if isinstance(path, Path))
    return replace(arm, patch=paths[: len(arm.patch)], series=paths[-1] if arm.series else None)


_OPTIONS = (
    click.option(
        "--base",
        help=(
            "Revision to compare with. A branch means its merge base with head; a tag or a hash means "
            "itself; A..B names head too. Default with --series: its base-commit."
        ),
    ),
    click.option("--head", help="Revision with the change."),
    click.option(
        "--series",
        type=GivenFile(),
        help="Mailbox with a patch series, from b4 or lore, compressed or not (`-`: standard input). "
        "Head is the series applied to base.",
    ),
    click.option(
        "--kernel",
        type=click.Path(path_type=Path, exists=True),
        help="Prebuilt kernel as head: a distribution's package, an image with its config, "
        "or a folder with either.",
    ),
    click.option(
        "--arm",
        "arms",
        multiple=True,
        metavar="NAME=SUBJECT…",
        callback=_arms,
        help=(
            "A variant to measure, called an arm; once per arm, in place of --base and --head. The others "
            "are compared with the first. Example: 'v2=HEAD patch=v2.patch boot=mitigations=off "
            "sysctl=kernel.x=1'. A sweep makes one arm per value: 'p{n}=HEAD sysctl=kernel.x={n} "
            "sweep=n=0..10'."
        ),
    ),
    click.option(
        "--arms",
        "arms_file",
        type=GivenFile(),
        help="TOML file of arms, one table [[arm]] per arm.",
    ),
    click.option("--patch", type=GivenFile(), help="Patch to apply to head (`-`: standard input)."),
)


def arm_options(command: F) -> F:
    """Adds the options in order.

    The command gets `base`, `head`, `series`, `kernel`, `patch`, `arms` and `arms_file`.
    """
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def take_arms(options: MutableMapping[str, object]) -> tuple[ArmRequest, ...] | Failure:
    """Removes `arms` and `arms_file` from the options and returns all arms, those of the file first."""
    file, arms = options.pop("arms_file"), options.pop("arms")
    assert isinstance(arms, tuple)
    of_file = read_arms(file) if isinstance(file, Path) else ()
    return of_file if isinstance(of_file, Failure) else (*of_file, *arms)


def take_range(options: MutableMapping[str, object]) -> None:
    """Removes `revisions` from the options: A..B is what `--base` takes. Raises click.UsageError."""
    revisions = options.pop("revisions")
    if revisions is None:
        return
    if ".." not in str(revisions):
        raise click.UsageError(f"{revisions!r} is not a range: write BASE..HEAD, or use --base and --head")
    if options["base"] is not None or options["head"] is not None:
        raise click.UsageError(f"{revisions} names both sides: leave out --base and --head")
    options["base"] = revisions


def two_arms(
    options: Mapping[str, object], base: str | None, head: str | None
) -> tuple[ArmRequest, ...] | Failure:
    """Returns base and head as arms, with the patch or series of the short options on head."""
    series, kernel, patch = (options[name] for name in ("series", "kernel", "patch"))
    if kernel is not None:
        return wrong_usage(
            "--kernel names a local file, which is too large for a request",
            "measure it with `cliffwatch run`",
        )
    if base is None or (head is None and series is None):
        return wrong_usage(
            "a request needs --base and --head, or arms", "name two revisions, or give --arm twice"
        )
    return (
        ArmRequest(name="base", rev=base),
        ArmRequest(
            name="head",
            rev=head or base,
            patch=(patch,) if isinstance(patch, Path) else (),
            series=series if isinstance(series, Path) else None,
        ),
    )
