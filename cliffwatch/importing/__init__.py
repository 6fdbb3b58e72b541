"""Loads the side of a comparison from a name: a run, an arm of a run, or a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.importing.arms import (
    NO_DESCRIPTION,
    are_of_boots,
    arms_from_parsed,
    declarations_in,
    holds_nothing,
)
from cliffwatch.importing.problems import add_problems
from cliffwatch.parsers.detect import parse_any, parse_printed
from cliffwatch.parsers.readings import Parsed, Problem
from cliffwatch.parsers.received.decoding import decode
from cliffwatch.parsers.received.opening import STANDARD_INPUT, read_content
from cliffwatch.parsers.received.text import extract_printed
from cliffwatch.parsers.table.header import is_parquet, looks_like_table
from cliffwatch.samples import Arm
from cliffwatch.stats.stages import Stages

if TYPE_CHECKING:
    from cliffwatch.parsers.table.reading import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """The content of a file: its arms, and facts about their run."""

    arms: Mapping[str, Arm]
    """By name, in the order of the file."""
    notable: float | None
    """The threshold, a fraction; None if the file does not give one."""
    stages: Stages | None
    """The stages of the plan; None if unknown, or if the arms are not of one run."""
    one_run: bool
    """True if all arms were booted in one run, so that blocks pair their boots."""
    run: str = ""
    """The run's identity; empty if the file does not give it."""

    problems: tuple[Problem, ...] = ()


def read_side(name: str) -> Arm | Failure:
    """Loads an arm from a result directory (`DIR`, which means its head, or `DIR:ARM`) or a file.

    `FILE` means its only arm; `FILE:ARM` names one.
    `-` is standard input. Like a file, it may name an arm: `-:ARM`.
    """
    path, _, arm = name.rpartition(":")
    if path and not Path(name).exists():
        if Path(path).is_dir():
            return _arm_of_run(Path(path), arm)
        if path == STANDARD_INPUT or Path(path).exists():
            return _arm_of_file(path, arm)
    if Path(name).is_dir():
        return _arm_of_run(Path(name), "head")
    return _arm_of_file(name, None)


def _arm_of_run(path: Path, arm: str) -> Arm | Failure:
    from cliffwatch.formats.result_directory import read_run  # noqa: PLC0415 - the types of documents are for runs alone

    run = read_run(path)
    if isinstance(run, Failure):
        return run
    if arm not in run.arms:
        return wrong_usage(f"{path} has no arm '{arm}'", f"choose among: {', '.join(run.arms)}")
    return run.arms[arm]


def _arm_of_file(path: str, arm: str | None) -> Arm | Failure:
    """Loads the named arm of a file, or its only arm. Arms are never merged."""
    imported = import_file(path)
    if isinstance(imported, Failure):
        return imported
    if arm is None and len(imported.arms) == 1:
        return next(iter(imported.arms.values()))
    if arm is None:
        named = " or ".join(f"{path}:{name}" for name in imported.arms)
        reason = f"{path} holds {len(imported.arms)} arms: {', '.join(imported.arms)}"
        return wrong_usage(reason, f"name one of them: {named}; alone, the file compares its own arms")
    if arm not in imported.arms:
        shown = ", ".join(filter(None, imported.arms))
        next_step = (
            f"choose among: {shown}" if shown else "it holds one side without a name: leave the ':' out"
        )
        return wrong_usage(f"{path} has no arm '{arm}'", next_step)
    return imported.arms[arm]


def import_file(name: str | Path) -> ImportedFile | Failure:
    """Loads everything from a file, a pipe or standard input (`-`)."""
    content = read_content(name)
    return content if isinstance(content, Failure) else import_content(content, str(name))


def import_content(content: bytes, name: str) -> ImportedFile | Failure:
    """Loads everything from the unpacked content of a file.

    Does not open the file again: it may be a pipe.
    """
    if is_parquet(content):
        from cliffwatch.parsers.table.parquet import read_parquet_table  # noqa: PLC0415 - each format loads its own reader

        table = read_parquet_table(content, name)
        return table if isinstance(table, Failure) else _of_table(table, name)
    return import_text(decode(content), name)


def import_text(text: str, name: str) -> ImportedFile | Failure:
    """Loads everything from the text of a file, a pipe or an upload to a service.

    `name` is its name for people.
    """
    printed = extract_printed(text)
    if isinstance(printed, Problem):
        return _no_result(name, [printed])
    text = printed
    if looks_like_table(text):
        from cliffwatch.parsers.table.comma_separated import read_csv_table  # noqa: PLC0415 - as above

        return _of_table(read_csv_table(text), name)
    parsed = parse_printed(text)
    if holds_nothing(parsed):
        return _no_result(name, parsed.problems)
    arms = arms_from_parsed(parsed, name)
    settings = next(iter(parsed.arms.values()), NO_DESCRIPTION).settings
    one_run = settings.get("one-run") != "no" and are_of_boots(parsed.found)
    return ImportedFile(
        arms=arms,
        notable=_notable(settings),
        stages=_stages(settings) if one_run else None,
        one_run=one_run,
        problems=parsed.problems,
    )


def _of_table(table: "Table", path: str) -> ImportedFile | Failure:
    if not any(boot.samples or boot.outcomes for arm in table.arms.values() for boot in arm.boots):
        return _no_result(path, table.problems)
    declared = declarations_in(table.settings)
    arms = {
        name: replace(
            arm,
            declared=declared,
            name=name or Path(path).name,
            label=arm.label or (f"{path}:{name}" if name else str(path)),
        )
        for name, arm in table.arms.items()
    }
    arms = add_problems(arms, table.problems, path)
    one_run = table.one_run and table.settings.get("one-run") != "no"
    stages = _stages(table.settings) if one_run else None
    return ImportedFile(
        arms=arms,
        notable=_notable(table.settings),
        stages=stages,
        one_run=one_run,
        run=table.run,
        problems=table.problems,
    )


def _no_result(path: str, problems: Sequence[Problem]) -> Failure:
    first = problems[0].reason if problems else "it is empty"
    return wrong_usage(f"{path} holds no result: {first}", "see `cliffwatch parse` for all that is wrong")


def parse_file(name: str | Path, *, stderr: str = "") -> Parsed | Failure:
    """Parses a file of any supported format, without making arms of it."""
    content = read_content(name)
    if isinstance(content, Failure):
        return content
    if is_parquet(content):
        from cliffwatch.parsers.table.parquet import read_parquet_table  # noqa: PLC0415 - as above
        from cliffwatch.parsers.table.reading import convert_table  # noqa: PLC0415 - as above

        table = read_parquet_table(content, str(name))
        return table if isinstance(table, Failure) else convert_table(table)
    return parse_any(decode(content), stderr=stderr)


def _notable(settings: Mapping[str, str]) -> float | None:
    """Reads the threshold from the settings. None if it is missing or invalid."""
    notable = _fraction(settings.get("notable", ""))
    return notable if notable is not None and 0 <= notable <= 1 else None


def _fraction(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _stages(settings: Mapping[str, str]) -> Stages | None:
    if "stages" not in settings:
        return None
    from cliffwatch.formats.reading import read_as  # noqa: PLC0415 - as above
    from cliffwatch.formats.run_record import StagesRecord  # noqa: PLC0415 - as above

    stages = read_as(settings["stages"].encode(), StagesRecord)
    return None if isinstance(stages, Problem) else stages.stages
