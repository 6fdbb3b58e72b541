"""Writes the reports of an audit's folder: terminal text, Markdown, the site, and every sample."""

from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import read_run
from cliffwatch.parsers.table.comma_separated import csv_lines
from cliffwatch.parsers.table.parquet import has_parquet, write_parquet
from cliffwatch.parsers.table.rows import rows_of_arm
from cliffwatch.reports.several.releases.markdown import markdown_of
from cliffwatch.reports.several.releases.reading import read_audit, read_record
from cliffwatch.reports.several.releases.site import pages_of
from cliffwatch.reports.several.releases.text import text_of

REPORT, SITE, DATA = "report.md", "site", "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written."""

    text: str
    """For the terminal."""
    interrupted: bool
    empty: bool
    """True if no release has a value."""


def write_reports(folder: Path, *, interrupted: bool = False, whole: bool = False) -> Written | Failure:
    """Writes report.md, site/ and data/ below the folder of an audit.

    If the `whole` audit is wanted and a run cannot be read, nothing is written.
    """
    audit = read_audit(folder, whole=whole)
    if isinstance(audit, Failure):
        return audit
    site = folder / SITE
    site.mkdir(exist_ok=True)
    for name, text in pages_of(audit):
        (site / name).write_text(text, encoding="utf-8", errors="replace")
    (folder / REPORT).write_text(markdown_of(audit), encoding="utf-8", errors="replace")
    _write_data(folder)
    where = f"\n{folder / REPORT}, {site / 'index.html'}, {folder / DATA}\n"
    empty = not any(suite.rows for suite in audit.suites)
    return Written(text=text_of(audit) + where, interrupted=interrupted, empty=empty)


def _write_data(folder: Path) -> None:
    """One table of samples per run: Parquet, or CSV where pyarrow is not installed."""
    record = read_record(folder)
    if isinstance(record, Failure):
        return
    data = folder / DATA
    data.mkdir(exist_ok=True)
    for about in record.runs:
        run = read_run(folder / about.folder)
        if isinstance(run, Failure):
            continue
        name = Path(about.folder).name
        rows = (row for arm in run.arms.values() for row in rows_of_arm(name, arm, arm.boots, {}))
        with (data / f"{name}.{'parquet' if has_parquet() else 'csv'}").open("wb") as file:
            if has_parquet():
                write_parquet(file, rows)
            else:
                file.writelines(csv_lines(rows))
