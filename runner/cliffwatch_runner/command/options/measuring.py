"""Options for how a run measures, and the defaults for commands without them."""

import os
from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args

import rich_click as click

from cliffwatch.formats.setup import MOST_ASKED_LAYOUTS
from cliffwatch.samples import ACCELS, DEFAULT_ACCEL, DEFAULT_MODE, DEFAULT_PROFILE, MODES, PROFILES, Mode
from cliffwatch_runner.build.cache.pruning import KEEP_BUILT_BYTES
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.command.options.values import numbers, seconds
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.sandbox.sandbox import Level

F = TypeVar("F", bound=Callable[..., Any])
BOTH: Literal["both"] = "both"
"""icount first, then walltime for the cases that icount leaves open."""

AskedMode = Mode | Literal["both"]


def mode_option(about: str = "Mode of measuring.", *, both: bool = False) -> Callable[[F], F]:
    """Adds `--mode`. The command gets `mode`, an `AskedMode` if `both`."""
    choices = click.Choice([*MODES, *((BOTH,) if both else ())])
    return click.option("--mode", type=choices, default=DEFAULT_MODE, show_default=True, help=about)


accel_option = click.option(
    "--accel",
    type=click.Choice(ACCELS),
    default=DEFAULT_ACCEL,
    show_default=True,
    help="What runs the guests of walltime. tcg: QEMU's emulator, without KVM: a rehearsal, whose times are "
    "not those of hardware.",
)


platform_option = click.option("--platform", help="Name of this kind of machine; default: the processor's.")


pin_option = click.option(
    "--pin", callback=numbers, help="Host CPUs for the guest's CPUs (walltime), such as 2,3,4,5."
)


layouts_option = click.option(
    "--layouts",
    type=click.IntRange(1, MOST_ASKED_LAYOUTS),
    help="Images of each kernel that differ only in where code lies, for walltime; default: 8. With 1, a "
    "change in time may come from where the linker put code alone.",
)


time_option = click.option(
    "--time",
    "seconds",
    metavar="20m",
    callback=seconds,
    help="Time for boots and links, instead of --boots (walltime). The first boots of each kernel show "
    "whether more layouts, boots or readings are worth it, and what will be detectable.",
)


matched_option = click.option(
    "--matched",
    is_flag=True,
    help="Boot head also with its unchanged functions where base has them, in the boots that confirm changes "
    "(walltime): the report then says whether a change is only where code lies.",
)


def modes_option(about: str) -> Callable[[F], F]:
    """Adds `--mode` as a repeatable, required option. The command gets `modes`."""
    return click.option("--mode", "modes", multiple=True, required=True, type=click.Choice(MODES), help=about)


def profile_option(about: str) -> Callable[[F], F]:
    return click.option(
        "--profile",
        type=click.Choice(PROFILES),
        default=DEFAULT_PROFILE,
        show_default=True,
        help=about,
    )


def isolation_option(about: str = "Isolation of the tree's code from this host.") -> Callable[[F], F]:
    return click.option(
        "--isolation",
        type=click.Choice(["auto", *get_args(Level)]),
        default="auto",
        show_default=True,
        help=about,
    )


def make_request(**asked: Any) -> RunRequest:
    """Makes a request of the given values, and of the defaults of `cliffwatch run` for all others."""
    defaults: dict[str, object] = {
        "tree_access": "own",
        "platform": None,
        "seed": 1,
        "bench_from": "head",
        "out": None,
        "cache_size": KEEP_BUILT_BYTES,
        "tools": ToolChoice(cc=None, clang=None, pahole=None, build_image=None),
        "fragments": (),
        "jobs": os.cpu_count() or 1,
        "cpus": None,
        "memory_mib": None,
        "pin": (),
        "guest_root": None,
        "limits": (),
        "trust": "local",
        "hang_after": 60.0,
        "notable": None,
        "explain": None,
    }
    return RunRequest(**(defaults | asked))  # type: ignore[arg-type]
