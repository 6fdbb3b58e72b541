"""A run believes what a case printed as an import does: a result that its own output contradicts
is failed.
"""

from pathlib import Path

import pytest

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.importing import ImportedFile, import_text
from cliffwatch_runner.guest.boot_end import BootEnd
from cliffwatch_runner.plan.selection import select_cases
from cliffwatch_runner.results.outcomes import CaseResult, case_name, read_case

RUNS = Path(__file__).parents[1] / "data" / "runs"
PRINTED = (RUNS / "uninlined/boots/002-head/1/cases/003-local-storage-cache-seq-get.out").read_text()
END = BootEnd(status="complete", seconds=9.0, last_case=None, splats=(), evidence="", unexpected_files=())
DOUBTED = {
    "the Summary says another": PRINTED.replace("throughput    5.135", "throughput    9.135"),
    "cut off": PRINTED.partition("Summary")[0],
}


def seq_get() -> PlannedCase:
    suites = tuple(suite for suite in load_catalogue().suites if suite.name == "local-storage")
    chosen = select_cases(
        suites, "smoke", offered=None, release=(6, 12), mode="icount", cpus=1, memory_mib=None
    )
    return next(case for case in chosen.cases if case.key.benchmark == "local-storage-cache-seq-get")


CASE = seq_get()


def result(folder: Path, printed: str) -> CaseResult:
    cases = folder / "cases"
    cases.mkdir()
    for kind, text in (("out", printed), ("err", ""), ("status", "0\n")):
        (cases / f"{case_name(0, CASE)}.{kind}").write_text(text)
    read = read_case(0, CASE, folder, END)
    assert read is not None
    return read


@pytest.mark.parametrize("kind", DOUBTED)
def test_a_doubted_result_is_failed_with_the_reason_that_an_import_gives(tmp_path: Path, kind: str) -> None:
    read = result(tmp_path, DOUBTED[kind])
    imported = import_text(DOUBTED[kind], "x.out")
    assert isinstance(imported, ImportedFile)
    (arm,) = imported.arms.values()
    (lost,) = (each for boot in arm.boots for each in boot.outcomes)
    assert (read.outcome.status, read.samples) == ("failed", ())
    # An import does not know how long the warm-up was, so that its mean of the readings is another.
    assert (lost.status, lost.reason.partition(" average ")[0]) == (
        "failed",
        read.outcome.reason.partition(" average ")[0],
    )


@pytest.mark.parametrize(
    "path", sorted(RUNS.rglob("*-local-storage-cache-seq-get.out")), ids=lambda path: path.parts[-4]
)
def test_what_guests_really_printed_is_believed(tmp_path: Path, path: Path) -> None:
    read = result(tmp_path, path.read_text())
    assert (read.outcome.status, read.outcome.reason) == ("ok", "")
    assert read.samples
