"""The context of a report: the origin of its numbers, notes and failures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cliffwatch.comparing.attribution.blocks import code_of_arm
from cliffwatch.comparing.attribution.images import code_sentence
from cliffwatch.comparing.attribution.profiles import profile_lines
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.same_code import same_code
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import AUXILIARY_ARMS, MATCHED, Arm, CaseKey, Mode, cautions_in, is_rehearsal
from cliffwatch.shell_lines import repeat_command
from cliffwatch.stats.stages import CAREFUL
from cliffwatch.trees.addresses import without_credentials

if TYPE_CHECKING:  # the types of documents are for runs alone
    from cliffwatch.comparing.attribution.blocks import CodeOfArm
    from cliffwatch.comparing.attribution.changes import Functions
    from cliffwatch.formats.code.differences import ArmCode
    from cliffwatch.formats.code.digests import CodeDigests
    from cliffwatch.formats.code.profile import ProfileRecord
    from cliffwatch.formats.result_directory import Run
    from cliffwatch.formats.run_record import RunRecord

_LIMITATIONS: Mapping[Mode, str] = {
    "icount": (
        "icount counts instructions exactly; caches, branch prediction, memory and contention are not"
        " measured"
    ),
    "walltime": (
        "walltime measures what users feel; changes below the noise of host and boots cannot be seen"
    ),
}

_LISTED_BOOTS = 8

_REHEARSAL_LIMITATION = (
    "a rehearsal measures an emulator; changes below the noise of host and boots cannot be seen"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFailure:
    """The failure of an arm that could not be measured."""

    arm: str
    message: str
    evidence: str
    """Raw text, such as a compiler's first error or the end of a console."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContext:
    """What a report says besides its rows."""

    setting: tuple[str, ...]
    """Short facts on the environment, such as config and compiler."""
    notes: tuple[str, ...]
    """Sentences for the reader."""
    failures: tuple[ArmFailure, ...]
    folder: str | None
    """The result directory; None for an imported file."""
    chosen: tuple[str, ...] = ()
    """Opening sentences: the chosen commits and suites, with reasons."""
    functions: "Functions" = field(default_factory=dict)
    """Functions behind changed rows, by arm, case and metric. Empty if instructions were not counted by
    function."""
    images: "Mapping[str, ArmCode]" = field(default_factory=dict)
    """Differences between the kernels' code, by arm."""
    profile: "ProfileRecord | None" = None
    """perf profiles of changed cases; None if perf recorded nothing."""
    repeat: str = ""
    """The command that repeats the measurement; empty if unknown."""
    case_code: "Mapping[CaseKey, CodeDigests]" = field(default_factory=dict)
    """Digests of the code that each case executes."""

    @property
    def code(self) -> "Mapping[str, CodeOfArm]":
        """Differences between the code of functions and BPF programs, by arm."""
        return {arm: code_of_arm(image) for arm, image in self.images.items()}


NO_CONTEXT = ReportContext(setting=(), notes=(), failures=(), folder=None)


def context_of_run(run: "Run") -> ReportContext:
    """Builds the context of a result directory."""
    context = context_of_record(run.record, str(run.path))
    return replace(context, notes=(*_absent_boots(run), *context.notes))


def _absent_boots(run: "Run") -> Iterator[str]:
    """Yields a note on planned boots that the folder does not hold."""
    if not run.absent_boots:
        return
    planned = count_noun(len(run.record.plan.boots), "planned boot")
    of_all = f"{len(run.absent_boots)} of {planned}"
    if run.record.status != "complete":
        yield f"{of_all} are still to be done: the run was stopped or is running; its command continues it."
        return
    named = [f"{boot.index:03}-{boot.arm}" for boot in run.absent_boots[:_LISTED_BOOTS]]
    named += ["…"] if len(run.absent_boots) > _LISTED_BOOTS else []
    yield (
        f"{of_all} are not in {run.path}, although the run is complete: {', '.join(named)}. Copy the whole"
        " folder, or repeat the run's command with the same --out: it measures them again."
    )


def with_functions(context: ReportContext, compared: Sequence[ComparisonSet]) -> ReportContext:
    """Adds code differences, profiles and the functions behind changes, if the result directory has them."""
    if context.folder is None:
        return context
    from cliffwatch.comparing.attribution.run import (  # noqa: PLC0415 - the types of documents are for runs alone
        code_of_run,
        functions_of_run,
        profile_of_run,
    )

    folder = Path(context.folder)
    code = code_of_run(folder)
    images = {} if code is None else {each.arm: each for each in code.arms}
    differ = any(image.functions or image.programs for image in images.values())
    counted_ones = [each for each in compared if each.mode == "icount" and (differ or each.changed_rows())]
    functions = functions_of_run(folder, counted_ones, images) if counted_ones else {}
    case_code = {} if code is None else {each.case: each.code for each in code.cases}
    return replace(
        context, functions=functions, images=images, profile=profile_of_run(folder), case_code=case_code
    )


def context_of_arm(arm: Arm) -> ReportContext:
    """Builds the context of an imported arm from its environment."""
    config, compiler = (arm.environment.get(name, "") for name in ("config", "compiler"))
    setting = (f"config {config[:12]}" if config else "", compiler)
    return ReportContext(setting=tuple(filter(None, setting)), notes=(), failures=(), folder=None)


def context_of_record(record: "RunRecord", folder: str | None) -> ReportContext:
    """Builds the context of a run.json. Leaves out missing facts."""
    return ReportContext(
        setting=_setting(record),
        notes=(
            *(note for note in record.notes if note not in cautions_in(record.notes)),  # those are warnings
            *_config_differences(record),
        ),
        failures=_failures(record),
        folder=folder,
        chosen=record.chosen,
        repeat=_repeat(record),
    )


def _repeat(record: "RunRecord") -> str:
    """Returns the command that repeats a run of two commits; empty for any other run."""
    arms = [arm for arm in record.arms if arm.name not in AUXILIARY_ARMS]
    commits = [arm.facts.commit for arm in arms if arm.facts.commit is not None and arm.settings is None]
    return repeat_of(record, commits[0], commits[1]) if len(arms) == 2 and len(set(commits)) == 2 else ""


def repeat_of(record: "RunRecord", base: str, head: str, *, suite: str = "", seed: str = "") -> str:
    """Returns the command that measures two commits as a run measured its own; of `suite` alone if given.

    Without `--tree`, which defaults to the current folder, if the tree is a folder. A seed keeps the order
    of boots.
    """
    plan = record.plan
    matched = any(boot.arm == MATCHED for boot in plan.boots)
    # A time chooses the layouts itself, other than one.
    in_layouts = record.mode == "walltime" and (plan.seconds is None or plan.layouts == 1)
    return repeat_command(
        tree=without_credentials(record.tree) if "://" in record.tree else "",
        base=base[:12],
        head=head[:12],
        suite=suite or ",".join(record.suites),
        profile=record.profile or "",
        mode=record.mode,
        accel="tcg" if is_rehearsal(record.platform) else "",
        boots="" if plan.seconds is not None else _boots_word(record),
        time="" if plan.seconds is None else f"{plan.seconds:.0f}s",
        layouts=str(plan.layouts) if in_layouts else "",
        matched=matched,
        seed=seed,
    )


def _boots_word(record: "RunRecord") -> str:
    """Returns the value of `--boots` that plans the boots of a run: the word of its stages, or a number.

    A block boots each arm once, or once for each guest shape.
    """
    if record.stages is not None:
        return "careful" if record.stages == CAREFUL else "staged"
    blocks = Counter(arm for arm, _ in {(boot.arm, boot.block) for boot in record.plan.boots})
    return str(max(blocks.values(), default=1))


def _setting(record: "RunRecord") -> tuple[str, ...]:
    toolchain, bench = record.toolchain_facts, record.bench
    facts = [
        f"config {record.config_digest[:12]}" if record.config_digest else "",
        toolchain.gcc or toolchain.clang or "",
        (
            f"bench of {bench.from_ or '?'} ({bench.source_digest[:12]})"
            if bench and bench.source_digest
            else ""
        ),
    ]
    return tuple(fact for fact in facts if fact)


def _config_differences(record: "RunRecord") -> Iterator[str]:
    """Yields notes on kernel configs that do not apply to all arms.

    Yields nothing if all arms have the same config.
    """
    arms = [arm for arm in record.arms if arm.facts.config is not None]
    if len({arm.facts.config for arm in arms}) < 2:
        return
    for note in dict.fromkeys(note for arm in arms for note in arm.config_notes):
        names = [arm.name for arm in arms if note in arm.config_notes]
        if len(names) < len(arms):
            yield f"{', '.join(names)}: {note}"


def _failures(record: "RunRecord") -> tuple[ArmFailure, ...]:
    return tuple(
        ArmFailure(arm=arm.name, message=arm.failure.message, evidence=arm.failure.evidence)
        for arm in record.arms
        if arm.failure is not None
    )


def code_sentences(compared: ComparisonSet, context: ReportContext) -> tuple[str, ...]:
    """Returns a sentence on how the code of head's kernel differs; empty if it is not known."""
    image = context.images.get(compared.head.name)
    return () if image is None else (f"{code_sentence(image)}.",)


def executes_same_code(compared: ComparisonSet, context: ReportContext, row: ComparisonRow) -> bool | None:
    """True if base and head execute the same code in the row's case; None if the run has no digests of it."""
    digests = context.case_code.get(row.case.planned)
    return same_code(digests, compared.base.name, digests, compared.head.name)


def profiles(compared: ComparisonSet, context: ReportContext) -> tuple[str, ...]:
    """Returns lines on the perf profiles of base and head; empty if there are none."""
    return (
        ()
        if context.profile is None
        else tuple(profile_lines(context.profile, compared.base.name, compared.head.name))
    )


def shared_warnings(compared: Sequence[ComparisonSet]) -> tuple[str, ...]:
    """Returns the warnings that all comparisons share. A report shows them once, before its first table."""
    return tuple(text for text in compared[0].warnings if all(text in each.warnings for each in compared))


def without_shared_warnings(compared: Sequence[ComparisonSet]) -> tuple[ComparisonSet, ...]:
    """Removes the shared warnings from comparisons."""
    shared = shared_warnings(compared)
    return tuple(
        replace(each, warnings=tuple(text for text in each.warnings if text not in shared))
        for each in compared
    )


class Booted(Protocol):
    """A side of a comparison, or its record."""

    @property
    def boots(self) -> int: ...

    @property
    def layouts(self) -> int: ...


def describe_measurement(compared: ComparisonSet, context: ReportContext) -> str:
    """Describes the measurement: `21 boots per kernel, walltime, amd-rome, config 78ca70a8f8f3, gcc 12.2`."""
    mode = mode_words(compared.mode, compared.platform)
    where = [trials(compared.base, compared.head), mode, compared.platform or "unknown platform"]
    return ", ".join([*where, *context.setting])


def limitation(mode: Mode, platform: str | None) -> str:
    """Returns what the mode measures and what it cannot show."""
    return _REHEARSAL_LIMITATION if is_rehearsal(platform) else _LIMITATIONS[mode]


def mode_words(mode: Mode | None, platform: str | None) -> str:
    """Names the mode.

    Says that icount shows instructions, because the guest's clock advances with its instructions, and that
    the time of a rehearsal is an emulator's.
    """
    if is_rehearsal(platform):
        return f"{mode or 'unknown mode'} (a rehearsal: time of an emulator)"
    return "icount (instructions, not time)" if mode == "icount" else mode or "unknown mode"


def trials(base: Booted, head: Booted) -> str:
    """Returns `21 boots per kernel, in 8 layouts`, or both numbers of boots if they differ."""
    spread = in_layouts(base, head)
    if base.boots == head.boots:
        return f"{count_noun(base.boots, 'boot')} per kernel{spread and f',{spread}'}"
    return f"{base.boots} and {count_noun(head.boots, 'boot')}{spread and f',{spread}'}"


def in_layouts(base: Booted, head: Booted) -> str:
    """Returns ` in 8 layouts`, or ` in 8 and 7 layouts`; empty for boots in one."""
    if max(base.layouts, head.layouts) < 2:
        return ""
    both = "" if base.layouts == head.layouts else f"{base.layouts} and "
    return f" in {both}{count_noun(head.layouts, 'layout')}"
