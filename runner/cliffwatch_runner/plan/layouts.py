"""How many layouts the kernels of a run have: images that differ only in where their code lies."""

from collections.abc import Sequence
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.build.kernel_config import read_fragments
from cliffwatch_runner.plan.request import DEFAULT_LAYOUTS, RunRequest
from cliffwatch_runner.plan.subjects import Subject

_LTO = "LTO_CLANG"


def layout_problem(request: RunRequest, arms: Sequence[Subject]) -> Failure | None:
    """Returns why the run cannot have the layouts that were asked for; None if it can, or none were."""
    if request.layouts is None or request.layouts == 1:
        return None
    boots = request.screen_boots
    if request.mode == "icount":
        return wrong_usage(
            "--layouts: instruction counts do not depend on where code lies",
            "leave it out, or measure time with --mode walltime",
        )
    if request.layouts > boots:
        return wrong_usage(
            f"--layouts: {request.layouts} layouts cannot share {count_noun(boots, 'boot')} of each kernel",
            f"use --layouts {boots} or fewer, or more --boots",
        )
    prebuilt = [arm for arm in arms if isinstance(arm.of, Path)]
    if prebuilt:
        return wrong_usage(
            f"--layouts: {prebuilt[0].short} is a prebuilt kernel and has one layout",
            "use --layouts 1, or build its revision from a tree",
        )
    if _wants_lto(request, arms):
        return wrong_usage(
            "--layouts: with LTO, clang lays the code of all objects out as one",
            f"use --layouts 1, or leave CONFIG_{_LTO} out",
        )
    return None


def planned_layouts(request: RunRequest, arms: Sequence[Subject]) -> int:
    """Returns the layouts of each kernel, as far as is known before one is built."""
    if request.mode == "icount" or any(isinstance(arm.of, Path) for arm in arms):
        return 1
    if request.layouts is None and _wants_lto(request, arms):
        return 1
    return request.layouts or min(DEFAULT_LAYOUTS, request.screen_boots)


def _wants_lto(request: RunRequest, arms: Sequence[Subject]) -> bool:
    paths = (*request.fragments, *(path for arm in arms for path in arm.settings.config))
    fragments = read_fragments((), paths)
    return not isinstance(fragments, Failure) and any(
        _LTO in name and value == "y" for name, value in fragments.wanted.items()
    )
