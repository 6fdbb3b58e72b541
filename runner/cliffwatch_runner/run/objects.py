"""Builds veristat and the selftests' BPF objects, per revision, for suites that verify them."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.programs.objects import ARCHIVE, UNBUILT, VERISTAT, TreeObjects, build_objects
from cliffwatch_runner.build.programs.program import SuiteProgram
from cliffwatch_runner.plan.objects import objects_of_tree
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.plan.subjects import Subject
from cliffwatch_runner.run.built_run import BuiltArm
from cliffwatch_runner.run.programs import BuiltPrograms
from cliffwatch_runner.run.tools import RunTools
from cliffwatch_runner.source.revision import Revision

_MOST_NAMED = 20


def add_objects(
    programs: BuiltPrograms, arms: Mapping[str, BuiltArm], run: PlannedRun, tools: RunTools
) -> BuiltPrograms | tuple[Failure, ...]:
    """Builds veristat and the objects of each arm that has a kernel. An arm whose objects do not build uses
    another arm's.

    Raises Stopped, OSError.
    """
    suites = {each.name for each in run.suites if each.program is not None and each.program.objects}
    needing = {program.suite for of_arm in programs.of_arms.values() for program in of_arm} & suites
    if not needing:
        return programs
    built: dict[str, TreeObjects] = {}
    failures: dict[str, Failure] = {}
    for name, arm in arms.items():
        if not isinstance(arm.kernel, Kernel):
            continue
        objects = _of_arm(arm.subject, arm.kernel, run, tools)
        if isinstance(objects, Failure) and objects.whose != "kernel":
            return (objects,)
        if isinstance(objects, Failure):
            failures[name] = objects
        else:
            built[name] = objects
    if not built:
        if needing <= run.may_lack:
            reason = next(iter(failures.values())).message
            return replace(programs, lacking={**programs.lacking, **dict.fromkeys(needing, reason)})
        return tuple(failures.values())
    other, stand_in = next(iter(built.items()))
    return replace(
        programs,
        of_arms={
            name: tuple(
                _add_to_program(each, built.get(name, stand_in)) if each.suite in needing else each
                for each in of_arm
            )
            for name, of_arm in programs.of_arms.items()
        },
        unbuilt=_nowhere(built),
        notes=(
            *(f"objects are from {other}, because veristat of {name} does not build" for name in failures),
            *_unbuilt_notes(built),
        ),
    )


def _of_arm(arm: Subject, kernel: Kernel, run: PlannedRun, tools: RunTools) -> TreeObjects | Failure:
    revision = _revision(arm, run)
    named = run.objects & set(objects_of_tree(run.tree, [revision]))
    tools.progress.begin("build objects", f"of {arm.arm}")
    objects = build_objects(
        run.tree,
        revision,
        kernel,
        named,
        toolchain=tools.of_arms[arm.arm].toolchain if revision == arm.revision else tools.toolchain,
        settings=tools.settings,
    )
    if isinstance(objects, Failure):
        tools.progress.end(f"of {arm.arm}: {objects.message}")
    else:
        how = "cached" if objects.was_there else "built"
        tools.progress.end(f"of {arm.arm} {how}: {len(objects.built)} of {count_noun(len(named), 'object')}")
    return objects


def _revision(arm: Subject, run: PlannedRun) -> Revision:
    """Returns the revision whose selftests the arm uses.

    This is its own, unless the kernel is prebuilt or all arms use the selftests of one revision.
    """
    return run.bench_revision if run.one_bench or arm.revision is None else arm.revision


def _add_to_program(program: SuiteProgram, objects: TreeObjects) -> SuiteProgram:
    """Adds veristat and the objects to a suite's program.

    The source digest excludes them, as they may differ on purpose.
    """
    digest = hashlib.sha256(f"{program.digest}\0{objects.digest}".encode()).hexdigest()[:32]
    files = {VERISTAT: objects.veristat, ARCHIVE: objects.archive, UNBUILT: objects.reasons}
    return replace(program, digest=digest, files={**program.files, **files})


def _nowhere(built: Mapping[str, TreeObjects]) -> dict[str, str]:
    there = {name for objects in built.values() for name in objects.built}
    return {
        name: reason
        for objects in built.values()
        for name, reason in objects.unbuilt.items()
        if name not in there
    }


def _unbuilt_notes(built: Mapping[str, TreeObjects]) -> Iterator[str]:
    for name, objects in built.items():
        if objects.unbuilt:
            shown = ", ".join(list(objects.unbuilt)[:_MOST_NAMED])
            more = (
                f" and {len(objects.unbuilt) - _MOST_NAMED} more"
                if len(objects.unbuilt) > _MOST_NAMED
                else ""
            )
            yield f"{count_noun(len(objects.unbuilt), 'object')} of {name} not built: {shown}{more}"
