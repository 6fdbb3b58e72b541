"""Checks that the suites of a run use the Go modules that arms name, before anything is fetched."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from cliffwatch.catalogue.suite import Suite
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.plan.arms import ArmRequest, is_folder
from cliffwatch_runner.source.go_modules import declared_module, read_go_mod, required_modules


def modules_of(suite: Suite) -> dict[str, str] | None:
    """Returns the versions of the modules that a suite's Go program requires; None without a Go program."""
    if suite.program is None or suite.source_file is None:
        return None
    text = read_go_mod(suite.source_file.parent)
    return None if text is None else required_modules(text)


def check_module_used(module: str, suites: Sequence[Suite]) -> Failure | None:
    """Returns a failure if none of the suites is built with `module`."""
    problem = _unused(module, _modules_by_suite(suites))
    return None if problem is None else wrong_usage(f"{module}: {problem[0]}", problem[1])


def _modules_by_suite(suites: Sequence[Suite]) -> dict[str, dict[str, str]]:
    return {suite.name: modules for suite in suites if (modules := modules_of(suite)) is not None}


def check_modules(arms: Sequence[ArmRequest], suites: Sequence[Suite]) -> Iterator[Failure]:
    """Yields a failure for each module that no suite is built with, or whose folder does not contain it."""
    known = _modules_by_suite(suites)
    for arm in arms:
        for name, how in arm.module.items():
            problem = _unused(name, known) or (
                _wrong_folder(name, Path(how).expanduser()) if is_folder(how) else None
            )
            if problem is not None:
                yield wrong_usage(f"--arm {arm.name}: module={name}: {problem[0]}", problem[1])


def _unused(name: str, known: dict[str, dict[str, str]]) -> tuple[str, str] | None:
    if not known:
        return (
            "no suite of this run has a Go program",
            "choose a suite that has one (docs/suites.md), or leave module= out",
        )
    if any(name in modules for modules in known.values()):
        return None
    used = "; ".join(f"{suite}: {', '.join(modules) or 'none'}" for suite, modules in known.items())
    return "no suite of this run is built with it", f"name a module that go.mod requires ({used})"


def _wrong_folder(name: str, folder: Path) -> tuple[str, str] | None:
    text = read_go_mod(folder)
    if text is None:
        what = "has no go.mod" if folder.is_dir() else "is not a folder"
        return (
            f"{folder} {what}",
            f"name the folder of a checkout of {name}, or a version: module={name}@VERSION",
        )
    declared = declared_module(text)
    if declared != name:
        return (
            f"{folder} has the module {declared or 'without a name'}",
            f"name the folder that contains {name}",
        )
    return None
