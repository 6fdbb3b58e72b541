"""Options for what kernels are built with."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import rich_click as click

from cliffwatch_runner.build.toolchain import ToolChoice

_Command = TypeVar("_Command", bound=Callable[..., object])

_OPTIONS = (
    click.option(
        "--config",
        "fragments",
        multiple=True,
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Fragment of kernel configuration, applied after ours; may be repeated.",
    ),
    click.option("--cc", help="Compiler of the kernels: gcc or clang, optionally with a version (gcc-14)."),
    click.option("--clang", help="Compiler of bench's BPF programs, such as clang-20."),
    click.option("--pahole", help="Program that generates BTF."),
    click.option(
        "--build-image", help="Container image with the tools to build with; guests run on its file system."
    ),
    click.option("--jobs", type=click.IntRange(1, 1024), help="Parallel compilers; default: one per CPU."),
)


def build_options(command: _Command) -> _Command:
    """Adds `--config`, `--cc`, `--clang`, `--pahole`, `--build-image` and `--jobs`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def take_tools(options: dict[str, object]) -> tuple[ToolChoice, int]:
    """Removes tools and jobs from a command's `options`, and returns them."""
    tools = {name: options.pop(name) for name in ("cc", "clang", "pahole", "build_image")}
    jobs = options.pop("jobs")
    assert jobs is None or isinstance(jobs, int)
    return ToolChoice(**tools), jobs or os.cpu_count() or 1  # type: ignore[arg-type]  # click has checked them
