"""`cliffwatch export`: writes the samples of a run or a file for other tools."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, NoReturn, TypeVar

import rich_click as click

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.command.report_options import refuse_unwritable
from cliffwatch.command.terminal import echo_failure
from cliffwatch.comparing.environments.differences import assumed_traits
from cliffwatch.comparing.placement.layouts import count_layouts
from cliffwatch.comparing.validity import warnings_of_measurement
from cliffwatch.counting import count_noun
from cliffwatch.failure import Exit, Failure, host_failed, wrong_usage
from cliffwatch.formats.result_directory import read_run
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.importing import import_file
from cliffwatch.parsers.received.opening import STANDARD_INPUT
from cliffwatch.parsers.table.columns import TableRow
from cliffwatch.parsers.table.comma_separated import csv_lines
from cliffwatch.parsers.table.parquet import has_parquet, no_parquet, write_parquet
from cliffwatch.parsers.table.rows import rows_of_arm
from cliffwatch.reports.exports.bencher import count_overlong_names, format_bencher
from cliffwatch.reports.exports.go_bench import go_bench_report, run_settings
from cliffwatch.reports.exports.kcidb import ORIGIN, Reported, build_report, format_kcidb
from cliffwatch.reports.exports.matrix import Layout, format_matrix
from cliffwatch.samples import AUXILIARY_ARMS, Arm

FORMATS = ("go-bench", "csv", "parquet", "bmf", "kcidb", "matrix")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """The run or file to export."""

    name: Path
    arms: Mapping[str, Arm]
    settings: Mapping[str, str]
    """Settings of the run, as `run_settings` returns them."""
    run: str
    """Identity of the run."""
    record: RunRecord | None
    """The run.json; None for a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A format with its options."""

    name: str
    origin: str
    """Name of the CI system in a KCIDB report."""
    layout: Layout | None
    """None unless the format is matrix."""


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(FORMATS), default="go-bench", show_default=True)
@click.option(
    "--arm",
    multiple=True,
    help="Arm to export; may be repeated. Default: all; of bmf head, of kcidb all but control and matched.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write to.")
@click.option(
    "--origin", default="cliffwatch", show_default=True, help="Name of the CI system in a KCIDB report."
)
@click.option(
    "--down", metavar="PARAM", help="Of a matrix: the parameter whose values are its rows, such as threads."
)
@click.option(
    "--across", metavar="PARAM", help="Of a matrix: the parameter whose values are its columns, such as map."
)
@click.option("--metric", help="Of a matrix: the metric in its cells. Default: those that decide.")
def export(
    run: Path,
    format_: str,
    arm: tuple[str, ...],
    out: Path | None,
    origin: str,
    down: str | None,
    across: str | None,
    metric: str | None,
) -> NoReturn:
    """Export every sample of RUN: a result directory, or a file of an import format (`-`: standard input).

    `benchstat -col arm FILE` compares the arms of go-bench. csv and parquet hold all that a comparison
    needs; `cliffwatch compare FILE` answers as for RUN, of go-bench too. bmf is for Bencher and has one
    arm's medians, kcidb for the database of kernelci.org. matrix is for people: tables of Markdown with
    one parameter down and another across.
    """
    refuse_unwritable(out, "--out")
    form = _exit_on_failure(_form(format_, origin, (down, across, metric), out))
    source = _exit_on_failure(_read(run))
    chosen = _exit_on_failure(_select_arms(source, format_, arm))
    _exit_on_failure(_refuse_empty_matrix(source, chosen, form))
    try:
        with _target(out) as file:
            _write(file, source, chosen, form)
    except OSError as error:
        message = f"the export cannot be written: {error}"
        failure = host_failed(message, "make room and export again")
        raise SystemExit(echo_failure(failure)) from None
    raise SystemExit(Exit.DONE)


def _exit_on_failure(found: T | Failure) -> T:
    """Ends the command if `found` is a failure; else returns it."""
    if isinstance(found, Failure):
        raise SystemExit(echo_failure(found))
    return found


def _read(path: Path) -> _Source | Failure:
    if str(path) == STANDARD_INPUT or (path.exists() and not path.is_dir()):
        imported = import_file(path)
        if isinstance(imported, Failure):
            return imported
        arms, one_run = imported.arms.values(), imported.one_run or len(imported.arms) == 1
        layouts = min(count_layouts(arm.boots) for arm in arms)
        settings = run_settings(
            imported.notable,
            imported.stages,
            one_run=one_run,
            arms=arms,
            layouts=layouts if layouts > 1 else None,
        )
        return _Source(name=path, arms=imported.arms, settings=settings, run=imported.run, record=None)
    read = read_run(path)
    if isinstance(read, Failure):
        return read
    settings = run_settings(
        read.record.plan.notable,
        read.stages,
        arms=read.arms.values(),
        layouts=read.record.layouts,
    )
    return _Source(name=path, arms=read.arms, settings=settings, run=read.record.identity, record=read.record)


def _select_arms(source: _Source, format_: str, named: Sequence[str]) -> list[Arm] | Failure:
    known = ", ".join(filter(None, source.arms))
    unknown = set(named) - set(source.arms)
    if unknown:
        return wrong_usage(f"{source.name} has no arm '{min(unknown)}'", f"choose among: {known}")
    if format_ == "bmf":
        head = ["head"] if "head" in source.arms else list(source.arms)
        wanted = list(named) or head
        if len(wanted) != 1:
            return wrong_usage(
                "Bencher Metric Format has room for one arm", f"name one of {known}: --arm NAME"
            )
        return [source.arms[wanted[0]]]
    left_out = AUXILIARY_ARMS if format_ == "kcidb" and not named else frozenset()
    return [arm for name, arm in source.arms.items() if (name in named if named else name not in left_out)]


def _form(
    format_: str, origin: str, matrix: tuple[str | None, str | None, str | None], out: Path | None
) -> _Form | Failure:
    if format_ == "kcidb" and not ORIGIN.fullmatch(origin):
        return wrong_usage(
            f"'{origin}' is no origin of KCIDB", "use small letters, digits and underscores: --origin NAME"
        )
    if format_ == "parquet" and not has_parquet():
        return no_parquet()
    if format_ == "parquet" and out is None and sys.stdout.isatty():
        return wrong_usage("Parquet is nothing for a terminal", "name a file: --out FILE")
    layout = _layout(format_, *matrix)
    return layout if isinstance(layout, Failure) else _Form(name=format_, origin=origin, layout=layout)


def _layout(
    format_: str, down: str | None, across: str | None, metric: str | None
) -> Layout | Failure | None:
    if format_ != "matrix" and (down or across or metric):
        return wrong_usage("--down, --across and --metric are of a matrix", "add --format matrix")
    if format_ != "matrix":
        return None
    if not down or not across or down == across:
        return wrong_usage("a matrix has two parameters", "name them: --down threads --across map")
    return Layout(down=down, across=across, metric=metric)


def _refuse_empty_matrix(source: _Source, arms: Sequence[Arm], form: _Form) -> Failure | None:
    """Returns a failure if the matrix would be empty; else None."""
    if form.layout is None or _text(source, arms, form):
        return None
    samples = [sample for arm in arms for boot in arm.boots for sample in boot.samples]
    params = ", ".join(dict.fromkeys(name for sample in samples for name, _ in sample.case.params)) or "none"
    metrics = ", ".join(dict.fromkeys(sample.metric for sample in samples)) or "none"
    return wrong_usage(
        f"no case of {source.name} has both {form.layout.down} and {form.layout.across} with a value of what"
        " was asked for",
        f"parameters there: {params}; metrics: {metrics}",
    )


@contextmanager
def _target(out: Path | None) -> Iterator[IO[bytes]]:
    """Opens the output. A regular file gets its name only once it is complete."""
    if out is None:
        yield sys.stdout.buffer
        return
    if not out.exists() or out.is_file():
        with NamedTemporaryFile(dir=out.parent, prefix=f".{out.name}.", delete=False) as file:
            part = Path(file.name)
            try:
                yield file
            except BaseException:
                part.unlink()
                raise
        part.chmod(0o666 & ~_umask())
        part.replace(out)
        return
    with out.open("wb") as file:
        yield file


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _write(file: IO[bytes], source: _Source, arms: Sequence[Arm], form: _Form) -> None:
    if form.name == "csv":
        for piece in csv_lines(_rows(source, arms)):
            file.write(piece)
    elif form.name == "parquet":
        write_parquet(file, _rows(source, arms))
    else:
        file.write(_text(source, arms, form).encode(errors="replace"))


def _rows(source: _Source, arms: Sequence[Arm]) -> Iterator[list[TableRow]]:
    for arm in arms:
        yield from rows_of_arm(source.run, arm, arm.boots, source.settings)


def _text(source: _Source, arms: Sequence[Arm], form: _Form) -> str:
    traits = assumed_traits(arms, load_catalogue().traits)
    if form.layout is not None:
        tables = (
            format_matrix(
                arm, form.layout, lambda case, metric, unit: traits(case, metric, unit, None).primary
            )
            for arm in arms
        )
        text = "\n".join(filter(None, tables))
        return text and "\n\n".join((*_warnings(arms), text))
    if form.name == "kcidb":
        record = source.record
        reported = (
            Reported(origin=form.origin, run=source.run)
            if record is None
            else build_report(record, source.run, form.origin)
        )
        return format_kcidb(
            arms, reported, lambda case, metric, unit, mode: traits(case, metric, unit, mode).primary
        )
    if form.name == "bmf":
        for line in (_describe_loss(arms[0]), *_warnings(arms)):
            click.echo(f"cliffwatch: {line}", err=True)
        return format_bencher(arms[0])
    of_run = tuple(source.arms.values())
    return go_bench_report(arms, traits, settings=source.settings, of_run=of_run)


def _warnings(arms: Sequence[Arm]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for arm in arms for text in warnings_of_measurement(arm, arm)))


def _describe_loss(arm: Arm) -> str:
    boots = f"medians of {count_noun(len(arm.boots), 'boot')} of {arm.name} with the smallest and the largest"
    long = count_overlong_names(arm)
    names = f"; {long} names are longer than Bencher takes" if long else ""
    return f"{boots}; single boots, readings, outcomes and other arms have no place in this format{names}"
