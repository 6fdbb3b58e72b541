"""How many layouts the kernels of a run have: images that differ only in where their code lies."""

from collections.abc import Sequence
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.setup import MOST_ASKED_LAYOUTS
from cliffwatch.stats.stages import Stages
from cliffwatch_runner.build.kernel_config import read_fragments
from cliffwatch_runner.plan.request import DEFAULT_LAYOUTS, RunRequest
from cliffwatch_runner.plan.subjects import Subject

_LTO = "LTO_CLANG"
_BASE_AND_HEAD = 2


def layout_problem(request: RunRequest, arms: Sequence[Subject]) -> Failure | None:
    """Returns why the run cannot have the layouts that were asked for; None if it can, or none were."""
    if request.matched:
        return _cannot_be_linked("--matched", request, arms) or _matched_problem(request, arms)
    if request.layouts is None or request.layouts == 1:
        return None
    return _cannot_be_linked("--layouts", request, arms) or _too_many(request)


def _cannot_be_linked(option: str, request: RunRequest, arms: Sequence[Subject]) -> Failure | None:
    without = "use --layouts 1" if option == "--layouts" else f"leave {option} out"
    if request.mode == "icount":
        return wrong_usage(
            f"{option}: instruction counts do not depend on where code lies",
            "leave it out, or measure time with --mode walltime",
        )
    prebuilt = [arm for arm in arms if isinstance(arm.of, Path)]
    if prebuilt:
        return wrong_usage(
            f"{option}: {prebuilt[0].short} is a prebuilt kernel and has one layout",
            f"{without}, or build its revision from a tree",
        )
    if _wants_lto(request, arms):
        return wrong_usage(
            f"{option}: with LTO, clang lays the code of all objects out as one",
            f"{without}, or leave CONFIG_{_LTO} out",
        )
    return None


def _too_many(request: RunRequest) -> Failure | None:
    layouts, boots = request.layouts or 1, request.screen_boots
    if layouts <= boots:
        return None
    return wrong_usage(
        f"--layouts: {layouts} layouts cannot share {count_noun(boots, 'boot')} of each kernel",
        f"use --layouts {boots} or fewer, or more --boots",
    )


def _matched_problem(request: RunRequest, arms: Sequence[Subject]) -> Failure | None:
    if planned_layouts(request, arms) == 1:
        return wrong_usage(
            "--matched: with one layout of each kernel there is none to match",
            "use --layouts 2 or more, or leave --matched out",
        )
    if isinstance(request.boots_per_arm, int):
        return wrong_usage(
            "--matched: only boots that confirm a change are matched, and --boots with a number has none",
            "use --boots staged or --boots careful",
        )
    if len(arms) != _BASE_AND_HEAD:
        return wrong_usage(
            f"--matched: head is matched to base, and this run has {len(arms)} arms",
            "compare base and head alone, or leave --matched out",
        )
    if request.trust == "outside":
        return wrong_usage(
            "--matched: of a tree from outside nothing is kept to link head again",
            "leave --matched out, or use --trust local for a tree that you trust",
        )
    return _too_many(request)


def planned_layouts(request: RunRequest, arms: Sequence[Subject]) -> int:
    """Returns the layouts of each kernel, as far as is known before one is built."""
    if request.mode == "icount" or any(isinstance(arm.of, Path) for arm in arms):
        return 1
    if request.layouts is None and _wants_lto(request, arms):
        return 1
    return request.layouts or min(DEFAULT_LAYOUTS, request.screen_boots)


def layouts_of_step(request: RunRequest, boots: int | Stages | None) -> int | None:
    """Returns the layouts of a bisection's step: one for each boot, if kernels can be linked again.

    More boots of the same layouts would tell little more.
    """
    if request.mode == "icount" or not isinstance(boots, int) or _wants_lto(request, ()):
        return request.layouts
    return min(boots, MOST_ASKED_LAYOUTS)


def _wants_lto(request: RunRequest, arms: Sequence[Subject]) -> bool:
    paths = (*request.fragments, *(path for arm in arms for path in arm.settings.config))
    fragments = read_fragments((), paths)
    return not isinstance(fragments, Failure) and any(
        name.removeprefix("CONFIG_").startswith(_LTO) and value == "y"
        for name, value in fragments.wanted.items()
    )
