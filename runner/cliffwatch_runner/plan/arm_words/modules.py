"""Checks that the suites of a run use the Go modules that arms name, before anything is fetched."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
    failure = _refuse_unused(module, _modules_by_suite(suites))
    return None if failure is None else replace(failure, message=f"{module}: {failure.message}")


def _modules_by_suite(suites: Sequence[Suite]) -> dict[str, dict[str, str]]:
    return {suite.name: modules for suite in suites if (modules := modules_of(suite)) is not None}


def check_modules(arms: Sequence[ArmRequest], suites: Sequence[Suite]) -> Iterator[Failure]:
    """Yields a failure for each module that no suite is built with, or whose folder does not contain it."""
    known = _modules_by_suite(suites)
    for arm in arms:
        for name, how in arm.module.items():
            failure = _refuse_unused(name, known) or (
                _refuse_folder(name, Path(how).expanduser()) if is_folder(how) else None
            )
            if failure is not None:
                yield replace(failure, message=f"--arm {arm.name}: module={name}: {failure.message}")


def _refuse_unused(name: str, known: dict[str, dict[str, str]]) -> Failure | None:
    if not known:
        return wrong_usage(
            "no suite of this run has a Go program",
            "choose a suite that has one (docs/suites.md), or leave module= out",
        )
    if any(name in modules for modules in known.values()):
        return None
    used = "; ".join(f"{suite}: {', '.join(modules) or 'none'}" for suite, modules in known.items())
    return wrong_usage(
        "no suite of this run is built with it", f"name a module that go.mod requires ({used})"
    )


def _refuse_folder(name: str, folder: Path) -> Failure | None:
    text = read_go_mod(folder)
    if text is None:
        what = "has no go.mod" if folder.is_dir() else "is not a folder"
        return wrong_usage(
            f"{folder} {what}",
            f"name the folder of a checkout of {name}, or a version: module={name}@VERSION",
        )
    declared = declared_module(text)
    if declared != name:
        return wrong_usage(
            f"{folder} has the module {declared or 'without a name'}",
            f"name the folder that contains {name}",
        )
    return None
