"""Chooses the BPF objects that suites verify.

They are the objects that a suite names, all others with a source in the tree, or those of a user's folder.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from cliffwatch.catalogue.suite import EVERY_OBJECT, Benchmark, CaseSpec, PlannedCase, Suite
from cliffwatch.samples import PROFILES
from cliffwatch_runner.build.programs.objects import SUFFIX
from cliffwatch_runner.build.selftests.prog_run import PROG_RUN
from cliffwatch_runner.build.selftests.sources import FOLDER
from cliffwatch_runner.guest.programs import OwnObject
from cliffwatch_runner.source.revision import Revision, list_files
from cliffwatch_runner.source.tree import Tree

CONFIGURATION, INPUT = "configuration", "input"
"""Parameters of a user's object: its recorded configuration, and the input of its programs."""


def objects_of_tree(tree: Tree, revisions: Sequence[Revision]) -> tuple[str, ...]:
    """Returns the objects whose source is in the selftests of any of the revisions."""
    sources = {name for each in revisions for name in list_files(tree.mirror, each, f"{FOLDER}/progs")}
    return tuple(f"{name.removesuffix('.c')}{SUFFIX}" for name in sorted(sources) if name.endswith(".c"))


def with_objects(suite: Suite, objects: Sequence[str]) -> Suite:
    """Returns the suite with a case for each of the tree's objects, if it has a case for all others."""
    param = None if suite.program is None else suite.program.objects
    if param is None:
        return suite
    return replace(
        suite,
        benchmarks=tuple(
            replace(each, cases=tuple(_every_object(each, param, objects))) for each in suite.benchmarks
        ),
    )


def _every_object(benchmark: Benchmark, param: str, objects: Sequence[str]) -> Iterator[CaseSpec]:
    named = {dict(case.params)[param] for case in benchmark.cases}
    for case in benchmark.cases:
        if dict(case.params)[param] != EVERY_OBJECT:
            yield case
            continue
        for name in objects:
            if name not in named:
                params = tuple((key, name if key == param else value) for key, value in case.params)
                yield replace(case, params=params, argv=_with_object(case.argv, EVERY_OBJECT, name))


def with_own_objects(suite: Suite, objects: Sequence[OwnObject]) -> Suite:
    """Returns the suite with cases for the user's objects only, in every profile.

    Each has one for every recorded configuration and, if the suite runs programs, for every input.
    """
    if suite.program is None or suite.program.objects is None:
        return suite
    param, runs = suite.program.objects, suite.program.output == PROG_RUN
    return replace(
        suite,
        benchmarks=tuple(
            replace(each, cases=tuple(_own_cases(each.cases[0], param, objects, runs=runs)))
            for each in suite.benchmarks
        ),
    )


def _own_cases(case: CaseSpec, param: str, objects: Sequence[OwnObject], *, runs: bool) -> Iterator[CaseSpec]:
    before, given = dict(case.params)[param], [(key, value) for key, value in case.params if key != param]
    words = list(case.argv)
    for key, value in given:  # the suite's own inputs
        at = words.index(f"--{key}")
        assert words[at + 1] == value
        del words[at : at + 2]
    for each in objects:
        for configuration, name in product(each.configurations, each.inputs if runs else ("",)):
            chosen = [(key, value) for key, value in ((CONFIGURATION, configuration), (INPUT, name)) if value]
            options = [word for key, value in chosen for word in (f"--{key}", value)]
            yield replace(
                case,
                params=((param, each.name), *chosen),
                argv=(*_with_object(words, before, each.name), *options),
                profiles=PROFILES,
            )


def _with_object(words: Sequence[str], before: str, name: str) -> tuple[str, ...]:
    return tuple(name if word == before else word for word in words)


def object_of(suite: Suite, case: PlannedCase) -> str | None:
    """Returns the object that a case verifies; None if it verifies none."""
    if suite.program is None or suite.program.objects is None:
        return None
    return dict(case.key.params)[suite.program.objects]
