"""Checks the arguments of a run before anything is fetched, built or written.

`writable_folders` checks the folders.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cliffwatch.catalogue.discovery import DISCOVERED
from cliffwatch.catalogue.load import Catalogue
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.reports.explain import matches
from cliffwatch.samples import REHEARSAL_PLATFORM, REHEARSAL_PREFIX, Accel, CaseKey, Mode, is_rehearsal
from cliffwatch.suggesting import did_you_mean
from cliffwatch_runner.build.kernel_config import read_fragments
from cliffwatch_runner.build.toolchain import ToolChoice, find_package, query_tool
from cliffwatch_runner.host.facts import NAMED_PLATFORMS
from cliffwatch_runner.plan.arm_words.modules import check_modules
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.suites.own import check_programs_input, collect_suites

_PLATFORM = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)


def check_arguments(request: RunRequest, catalogue: Catalogue) -> tuple[Failure, ...]:
    """Returns all faults at once; empty if the run may begin."""
    suites, fragments = collect_suites(request, catalogue), read_fragments((), request.fragments)
    first = (each for each in (suites, fragments) if isinstance(each, Failure))
    chosen = () if isinstance(suites, Failure) else suites
    target = target_problem(request.platform, (request.mode,), request.accel)
    given = (*check_programs_input(request, chosen), *(check_modules(request.arms, chosen) if chosen else ()))
    return (*first, *given, *target, *_pin_problem(request), *time_problem(request), *_tools(request.tools))


def _pin_problem(request: RunRequest) -> Iterator[Failure]:
    """Yields the fault of the guest's CPUs on the host, if any."""
    if request.pin and request.mode == "icount":
        yield wrong_usage(
            "--pin: instruction counts do not depend on the CPU that counts them",
            "leave it out, or measure time with --mode walltime",
        )
    if len(set(request.pin)) < len(request.pin):
        yield wrong_usage(
            "--pin: two CPUs of the guest would share one of the host", "name every CPU once, such as 2,3"
        )


def time_problem(request: RunRequest) -> Iterator[Failure]:
    """Yields the fault of a time budget, if any."""
    if request.seconds is None:
        return
    if request.mode == "icount":
        yield wrong_usage(
            "--time: instruction counts repeat, so more boots show nothing new",
            "leave it out, or measure time with --mode walltime",
        )
    elif request.boots is not None:
        yield wrong_usage("--time and --boots both say how many boots there are", "leave one of them out")
    elif request.layouts is not None and request.layouts > 1:
        yield wrong_usage(
            "--time: its first boots show how many layouts are worth their time",
            "leave out --layouts, or use --layouts 1",
        )
    elif request.matched:
        yield wrong_usage(
            "--matched: only boots that confirm a change are matched, and --time has none",
            "leave out --time, or --matched",
        )


def platform_problem(name: str | None) -> Iterator[Failure]:
    """Yields the fault of a platform name, if any.

    Series are stored under the name, so a stray blank or capital would start a new platform.
    """
    if name is None:
        return
    if not _PLATFORM.fullmatch(name):
        yield wrong_usage(
            f"--platform: {name!r} is no name of a platform",
            (
                "use letters, digits, '-', '.', '_' and '+', such as amd-rome; "
                "the default is the processor's name"
            ),
        )
    elif name not in NAMED_PLATFORMS and name.lower() in NAMED_PLATFORMS:
        yield wrong_usage(
            f"--platform: {name!r} would be a different platform from {name.lower()!r}",
            f"did you mean {name.lower()}?",
        )


def target_problem(platform: str | None, modes: Iterable[Mode], accel: Accel) -> Iterator[Failure]:
    """Yields the faults of where and how something is measured."""
    yield from platform_problem(platform)
    for mode in modes:
        yield from accel_problem(accel, mode, platform)


def accel_problem(accel: Accel, mode: Mode, platform: str | None) -> Iterator[Failure]:
    """Yields the fault of an accelerator, if any.

    A platform of rehearsals has no other runs, so that no time of hardware is stored beside emulated ones.
    """
    if accel == "tcg" and mode == "icount":
        yield wrong_usage(
            "--accel tcg rehearses walltime, and icount is emulated anyway",
            "leave out --accel to count instructions, or rehearse with --mode walltime --accel tcg",
        )
    elif accel == "tcg" and platform is not None and not is_rehearsal(platform):
        yield wrong_usage(
            f"--accel tcg: {platform!r} would store emulated time under the name of a machine",
            f"leave out --platform, or begin its name with {REHEARSAL_PREFIX!r}, as in {REHEARSAL_PLATFORM}",
        )
    elif accel != "tcg" and is_rehearsal(platform):
        yield wrong_usage(
            f"--platform: {platform!r} is for rehearsals, and this is none",
            "rehearse with --mode walltime --accel tcg, or give the platform another name",
        )


def _tools(named: ToolChoice) -> Iterator[Failure]:
    """Yields a failure for each named tool that does not run here.

    Tools in a container image are checked when the image is first used.
    """
    if named.build_image is not None:
        return
    options = (
        ("--cc", "gcc", named.cc),
        ("--clang", "clang", named.clang),
        ("--pahole", "pahole", named.pahole),
    )
    for option, tool, program in options:
        if program is not None and isinstance(query_tool(tool, program), Failure):
            yield wrong_usage(
                f"{option}: there is no program {program!r} here that prints its version",
                f"name one that is on PATH, or install {find_package(tool)}",
            )


def patterns_by_suite(patterns: Sequence[str], cases: Iterable[CaseKey]) -> Mapping[str, tuple[str, ...]]:
    """Returns for each suite of these cases the patterns of `--case` that match one; no other suites."""
    matched: dict[str, dict[str, None]] = {}
    for case in cases:
        for pattern in patterns:
            if matches(case, pattern):
                matched.setdefault(case.suite, {})[pattern] = None
    return {suite: tuple(found) for suite, found in matched.items()}


def unmatched_patterns(request: RunRequest, cases: tuple[CaseKey, ...]) -> tuple[Failure, ...]:
    """Returns a failure for `--explain` and each `--case` that matches no case of the plan.

    Empty for `--suite discovered`: its cases are unknown until the tree's bench is built.
    """
    if DISCOVERED in request.suites:
        return ()
    wanted = [("--case", pattern) for pattern in request.cases]
    if request.explain is not None:
        wanted.append(("--explain", request.explain))
    shown = ", ".join(dict.fromkeys(case.benchmark for case in cases[:50]))
    return tuple(
        wrong_usage(
            f"{option}: no case of the plan matches {pattern!r}"
            f"{did_you_mean(pattern, {case.benchmark for case in cases})}",
            f"give a part of a name, or a pattern with *; the plan has {shown}",
        )
        for option, pattern in wanted
        if not any(matches(case, pattern) for case in cases)
    )
