"""Writes the reports of an audit's folder: terminal text, Markdown, the site, and every sample."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.result_directory import read_run
from cliffwatch.parsers.table.comma_separated import csv_lines
from cliffwatch.parsers.table.parquet import has_parquet, write_parquet
from cliffwatch.parsers.table.rows import rows_of_arm
from cliffwatch.reports.several.releases.audit import Audit
from cliffwatch.reports.several.releases.folder import read_record
from cliffwatch.reports.several.releases.markdown import markdown_of
from cliffwatch.reports.several.releases.reading import read_audit
from cliffwatch.reports.several.releases.site import is_page_of_suite, pages_of
from cliffwatch.reports.several.releases.text import text_of
from cliffwatch_runner.results.files import open_replacing, write_text

REPORT, SITE, DATA = "report.md", "site", "data"
_TABLES = (".parquet", ".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written."""

    text: str
    """For the terminal."""
    interrupted: bool
    empty: bool
    """True if no release has a value."""


def write_reports(folder: Path, *, interrupted: bool = False) -> Written | Failure:
    """Writes report.md, site/ and data/ below the folder of an audit.

    If a run cannot be read whole, nothing is written.
    """
    audit = read_audit(folder)
    if isinstance(audit, Failure):
        return audit
    try:
        _write(folder, audit)
    except OSError as error:
        return wrong_usage(
            f"{error.filename2 or error.filename or folder} cannot be written: {error.strerror or error}",
            "move it away, or free space there, then write the reports with --report-only",
        )
    where = f"\n{folder / REPORT}, {folder / SITE / 'index.html'}, {folder / DATA}\n"
    empty = not any(suite.rows for suite in audit.suites)
    return Written(text=text_of(audit) + where, interrupted=interrupted, empty=empty)


def _write(folder: Path, audit: Audit) -> None:
    site = folder / SITE
    site.mkdir(exist_ok=True)
    pages = dict(pages_of(audit))
    for name, text in pages.items():
        write_text(site / name, text)
    _remove_pages(site, set(pages))
    write_text(folder / REPORT, markdown_of(audit))
    _write_data(folder, (suite.name for suite in load_catalogue().suites))


def _remove_pages(site: Path, written: set[str]) -> None:
    """Removes pages of suites that the audit no longer has. Pages of others stay."""
    for page in site.glob("*.html"):
        if page.name in written or not page.is_file():
            continue
        if is_page_of_suite(page.read_text(encoding="utf-8", errors="replace")):
            page.unlink()


def _write_data(folder: Path, suites: Iterable[str]) -> None:
    """One table of samples per run: Parquet, or CSV where pyarrow is not installed.

    Removes tables of suites that are not written any more. Files of other names stay.
    """
    record = read_record(folder)
    if isinstance(record, Failure):
        return
    data = folder / DATA
    data.mkdir(exist_ok=True)
    written: set[str] = set()
    for about in record.runs:
        run = read_run(folder / about.folder)
        if isinstance(run, Failure):
            continue
        name = Path(about.folder).name
        rows = (row for arm in run.arms.values() for row in rows_of_arm(name, arm, arm.boots, {}))
        table = data / f"{name}.{'parquet' if has_parquet() else 'csv'}"
        written.add(table.name)
        with open_replacing(table) as file:
            if has_parquet():
                write_parquet(file, rows)
            else:
                file.writelines(csv_lines(rows))
    ours = {*suites, *record.suites}
    for table in data.iterdir():
        stale = table.name not in written and table.suffix in _TABLES
        if stale and table.name.partition(".")[0] in ours:
            table.unlink()
