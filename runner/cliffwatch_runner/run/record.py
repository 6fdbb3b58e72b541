"""Builds run.json: enough to repeat the run and to know what its numbers describe."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import cliffwatch
from cliffwatch.catalogue.load import Catalogue
from cliffwatch.catalogue.suite import Suite
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.arms.declared_metrics import DeclaredMetricRecord
from cliffwatch.formats.reading import as_json, document_text
from cliffwatch.formats.run_reading import read_run_record
from cliffwatch.formats.run_record import (
    FORMAT,
    FORMAT_VERSION,
    ArmFacts,
    ArmRecord,
    BenchRecord,
    CaseGuest,
    DataRecord,
    FailureRecord,
    PlannedBootRecord,
    PlannedCaseRecord,
    PlanRecord,
    ProgramRecord,
    RunRecord,
    RunStatus,
    SettingsRecord,
    stages_record,
)
from cliffwatch.formats.values import FreeJson, copy_fields, outcome_record
from cliffwatch.parsers.per_operation import as_instructions
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import MATCHED, CaseKey, Mode
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.guest.argv import GuestShape
from cliffwatch_runner.plan.arms import NO_SETTINGS, ArmSettings
from cliffwatch_runner.plan.plan import Plan
from cliffwatch_runner.plan.shapes import shape_of_case
from cliffwatch_runner.plan.subjects import Subject
from cliffwatch_runner.run.built_run import BuiltArm, BuiltRun
from cliffwatch_runner.sandbox.isolation import isolation_sentence


def identity(run: BuiltRun) -> str:
    """Returns a digest that is equal for runs that measure the same thing in the same way. An interrupted run
    may resume under it.

    It excludes the boots and the arm that follow from those of the first stage, and the threshold, which does
    not affect the boots: a run may resume under another one.
    """
    content = {
        "arms": {name: _of_arm(arm) for name, arm in run.arms.items() if name != MATCHED},
        "bench": None if run.bench is None else run.bench.digest,
        **_given(run),
        **({"matched": True} if run.request.matched else {}),
        "mode": run.mode,
        "platform": run.platform,
        "guest": run.shape.record(),
        "plan": _measured(replace(run.plan, boots=run.plan.first_boots), run.shape),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _of_arm(arm: BuiltArm) -> list[object]:
    revision, settings = arm.subject.revision, arm.subject.settings
    named = [None if revision is None else revision.commit, _kernel_digest(arm)]
    return [*named, *([as_json(_settings(settings))] if settings != NO_SETTINGS else [])]


def _given(run: BuiltRun) -> dict[str, object]:
    """Returns what the user's own suites and data add to the identity; empty without them."""
    programs = {
        suite: of_arms if len(set(of_arms.values())) > 1 else next(iter(of_arms.values()))
        for suite, of_arms in _digests(run).items()
    }
    data = None if run.data is None else run.data.digest
    return {**({"programs": programs} if programs else {}), **({"data": data} if data else {})}


def _digests(run: BuiltRun) -> dict[str, dict[str, str]]:
    """Returns the digest of each suite's program, by arm."""
    digests: dict[str, dict[str, str]] = {}
    for arm, programs in run.programs.items():
        for program in programs if arm != MATCHED else ():
            digests.setdefault(program.suite, {})[arm] = program.digest
    return digests


def _kernel_digest(arm: BuiltArm) -> str:
    return arm.kernel.digest if isinstance(arm.kernel, Kernel) else "failed"


_LONGEST_EVIDENCE, LONGEST_LABEL = 8000, 4000


def record(run: BuiltRun, *, created: str, status: RunStatus, failures: Mapping[str, Failure]) -> RunRecord:
    """Builds run.json. `failures` explain arms whose kernel built but never measured anything."""
    return copy_fields(
        RunRecord,
        run,
        format=FORMAT,
        format_version=FORMAT_VERSION,
        cliffwatch_version=cliffwatch.__version__,
        created=created,
        status=status,
        identity=identity(run),
        mode=run.mode,
        profile=run.request.profile,
        suites=(*run.request.suites, *(suite.name for suite in run.own_suites)),
        tree=run.request.tree,
        arms=tuple(_arm(name, arm, failures) for name, arm in run.arms.items()),
        bench=_bench(run),
        programs=tuple(_programs(run)),
        declared=_declared_metrics(run.own_suites, run.mode),
        data=None
        if run.data is None
        else DataRecord(name=run.data.name, bytes=len(run.data.content), sha256=run.data.digest),
        config_digest=next(iter(run.kernels.values())).config_digest,
        toolchain=dict(run.tools.toolchain.record()),
        isolation=isolation_sentence(run.tools.settings.sandbox.level),
        guest=run.shape.record(),
        plan=_plan(run.plan, run.shape),
        left_out=tuple(map(outcome_record, run.left_out)),
        host=dict(run.host),
    )


def _bench(run: BuiltRun) -> BenchRecord | None:
    if run.bench is None:
        return None
    return BenchRecord(
        from_=run.bench_from,
        digest=run.bench.digest,
        source_digest=run.bench.source_digest,
        fixed_seed=run.mode == "icount",
    )


def _programs(run: BuiltRun) -> Iterator[ProgramRecord]:
    """Yields each program once, with the arms that ran it unless all did."""
    digests = _digests(run)
    written: set[tuple[str, str]] = set()
    for program in (each for programs in run.programs.values() for each in programs):
        if (program.suite, program.digest) in written:
            continue
        written.add((program.suite, program.digest))
        of_arms = digests[program.suite]
        ran = tuple(arm for arm, digest in of_arms.items() if digest == program.digest)
        yield ProgramRecord(
            suite=program.suite,
            name=program.name,
            digest=program.digest,
            source_digest=program.source_digest,
            fixed_seed=program.dynamic if run.mode == "icount" else False,
            arms=() if len(ran) == len(of_arms) else ran,
            go=program.go or None,
            modules=dict(program.modules),
        )


def _declared_metrics(suites: Sequence[Suite], mode: Mode) -> tuple[DeclaredMetricRecord, ...]:
    """Returns every metric of every benchmark of a user's own suites as judged in this mode. When runs are
    compared, no catalogue has these suites.

    Under icount, a time is replaced by the instructions that are computed from it.
    """
    records: list[DeclaredMetricRecord] = []
    for suite in suites:
        catalogue = Catalogue((suite,))
        for benchmark in suite.benchmarks:
            for metric, shape in suite.shapes(benchmark, mode).items():
                made = as_instructions(metric, shape.unit) if mode == "icount" else None
                if made is not None and made[0] != metric:
                    continue
                traits = catalogue.traits(CaseKey(suite.name, benchmark.name), metric, shape.unit, mode)
                records.append(
                    DeclaredMetricRecord(
                        suite=suite.name,
                        benchmark=benchmark.name,
                        metric=metric,
                        unit=shape.unit,
                        better=shape.better,
                        primary=traits.primary,
                        assume=traits.assume,
                        repeatability=traits.repeatability,
                        empty_loop=traits.empty_loop,
                    )
                )
    return tuple(records)


def find_unreadable(document: RunRecord) -> Failure | None:
    """Returns why the record could not be read back; None if it could. Checked before anything is measured.

    Types are checked when a record is read, not when it is built.
    """
    read = read_run_record(document_text(document))
    if not isinstance(read, Problem):
        return None
    return wrong_usage(
        f"the record of this run could not be read back: {read}", "change its name, platform or tree"
    )


def _arm(name: str, arm: BuiltArm, failures: Mapping[str, Failure]) -> ArmRecord:
    failure = arm.kernel if isinstance(arm.kernel, Failure) else failures.get(name)
    kernel = arm.kernel if isinstance(arm.kernel, Kernel) else None
    settings = arm.subject.settings
    return ArmRecord(
        name=name,
        label=arm.subject.label[:LONGEST_LABEL],
        facts=_facts(arm.subject, kernel),
        settings=None if settings == NO_SETTINGS else _settings(settings),
        toolchain=dict(arm.toolchain.record()) if settings.cc is not None else None,
        config_notes=kernel.notes if kernel else (),
        failure=None if failure is None else _failure(failure),
    )


def _settings(settings: ArmSettings) -> SettingsRecord:
    return SettingsRecord(
        boot=settings.boot,
        writes=settings.files(),
        config=tuple(path.name for path in settings.config),
        cc=settings.cc,
        modules=settings.modules(),
    )


def _facts(subject: Subject, kernel: Kernel | None) -> ArmFacts:
    image, config = (kernel.digest, kernel.config_digest) if kernel else (None, None)
    revision = subject.revision
    if revision is None:
        return ArmFacts(
            subject=subject.short, release=kernel.release if kernel else None, kernel=image, config=config
        )
    return ArmFacts(
        kernel=image,
        config=config,
        commit=revision.commit,
        tree=revision.tree,
        release=revision.release,
        subject=revision.subject,
        author=revision.author or None,
        author_date=revision.author_date or None,
        commit_date=revision.commit_date or None,
        parents=revision.parents,
    )


def _failure(failure: Failure) -> FailureRecord:
    return FailureRecord(
        whose=failure.whose,
        message=failure.message,
        next_step=failure.next_step,
        evidence=failure.evidence[:_LONGEST_EVIDENCE],
    )


def _plan(plan: Plan, shape: GuestShape) -> PlanRecord:
    return PlanRecord(
        seed=plan.seed,
        notable=plan.notable,
        stages=stages_record(plan.stages),
        layouts=plan.layouts,
        seconds=None if plan.budget is None else plan.budget.seconds,
        cases=tuple(
            PlannedCaseRecord(
                suite=case.key.suite,
                benchmark=case.key.benchmark,
                params=dict(case.key.params),
                argv=case.argv,
                warmup=case.warmup,
                duration=case.duration,
                deadline=case.deadline,
                guest=_guest(shape_of_case(shape, case.guest)),
            )
            for case in plan.cases
        ),
        boots=tuple(
            PlannedBootRecord(
                index=boot.index,
                block=boot.block,
                arm=boot.arm,
                stage=boot.stage,
                cases=boot.cases,
                duration=boot.duration,
            )
            for boot in plan.boots
        ),
    )


def _guest(shape: GuestShape) -> CaseGuest:
    return CaseGuest(
        cpus=shape.cpus,
        memory_mib=shape.memory_mib,
        possible_cpus=shape.possible_cpus,
        numa_nodes=shape.numa_nodes,
    )


def _measured(plan: Plan, shape: GuestShape) -> FreeJson:
    """Returns the parts of a plan that decide what is measured.

    The identity includes the guest as a whole.
    """
    content: FreeJson = as_json(_plan(plan, shape))
    del content["notable"]
    for case in content["cases"]:
        del case["guest"]
    return content
