"""Reads the folder of an audit: its record, and its result directories."""

import re
from pathlib import Path

from cliffwatch.comparing.attribution.run import CODE, code_of_run
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.releases_record import ReleasesRecord, SuiteRunRecord
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.parsers.readings import Problem
from cliffwatch.parsers.received.opening import read_regular
from cliffwatch.samples import Arm, CaseKey

RECORD = "releases.json"
_LARGEST_BYTES = 16 << 20
_DIGITS = re.compile(r"\d+", re.ASCII)
_RESTORE = "restore the folder, or run the command without --report-only, which measures it again"


def read_record(folder: Path) -> ReleasesRecord | Failure:
    """Reads releases.json of a folder."""
    try:
        content = read_regular(folder / RECORD, _LARGEST_BYTES)
    except OSError as error:
        return wrong_usage(
            f"{folder} is no folder of `cliffwatch releases`: {error.strerror or error}",
            "name the folder that was given as --out",
        )
    record = read_as(content, ReleasesRecord)
    fault = str(record) if isinstance(record, Problem) else _find_fault(record)
    if isinstance(record, Problem) or fault:
        return wrong_usage(
            f"{folder / RECORD} cannot be read: {fault}", "measure into a new folder with --out"
        )
    return record


def _find_fault(record: ReleasesRecord) -> str:
    """Says which part of a record contradicts another; empty if none does."""
    versions = [_numbers(each.version) for each in record.releases]
    if versions != sorted(versions):
        return "the releases are not in order of version"
    lists = {
        "the name of a release": [each.name for each in record.releases],
        "the commit of a release": [each.commit for each in record.releases],
        "the folder of a run": [each.folder for each in record.runs],
        "a suite": list(record.suites),
    }
    for what, values in lists.items():
        if len(set(values)) < len(values):
            return f"{what} is there twice"
    tried = {each.suite for each in record.runs} | {each.suite for each in record.failures}
    unknown = tried - set(record.suites)
    if unknown:
        return f"{min(unknown)} is no suite of the audit"
    return "no suite can be called index, as a page is" if "index" in record.suites else ""


def _numbers(version: str) -> tuple[int, ...]:
    """6.12.117-rc1 as 6, 12 and 117."""
    return tuple(int(digits) for digits in _DIGITS.findall(version)[:3])


def read_suite_run(folder: Path, about: SuiteRunRecord) -> Run | Failure:
    """Reads a run of an audit. A run of another suite, or without all its boots, is a failure."""
    home = folder / about.folder
    run = read_run(home)
    if isinstance(run, Failure):
        return wrong_usage(run.message, _RESTORE)
    if run.record.suites != (about.suite,):
        measured = ", ".join(run.record.suites) or "no suite"
        return wrong_usage(f"{home} is a run of {measured}, not of {about.suite}", _RESTORE)
    absent = len(run.absent_boots)
    if absent:
        there = sum(len(arm.boots) for arm in run.arms.values())
        return wrong_usage(f"{home} has {there} of {count_noun(there + absent, 'planned boot')}", _RESTORE)
    return run


def find_unread_code(run: Run) -> str:
    """Says that code.json of a run cannot be read; empty if it can, or if the run has none."""
    if code_of_run(run.path) is not None or not (run.path / CODE).exists():
        return ""
    return (
        f"{run.path.parent.name}/{run.path.name}/{CODE} cannot be read: it has the sizes of kernels and how"
        " their code differs"
    )


def unmeasured_cases(arm: Arm | None) -> tuple[CaseKey, ...]:
    """Cases of the plan without a value on an arm that booted. Empty if it is None or has failed."""
    if arm is None or arm.failure is not None:
        return ()
    measured = {sample.case.planned for boot in arm.boots for sample in boot.samples}
    asked = dict.fromkeys(outcome.case.planned for boot in arm.boots for outcome in boot.outcomes)
    return tuple(case for case in asked if case not in measured)
