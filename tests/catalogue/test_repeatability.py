"""How well counted values repeat stands case by case in suites/repeatability.csv, as measured; suite.toml
speaks for the rest.
"""

from pathlib import Path

import pytest

from cliffwatch.catalogue.load import load_catalogue, read_catalogue
from cliffwatch.catalogue.repeatability import LEAST, MARGIN, read_repeatability
from cliffwatch.samples import CaseKey

HEADER = "case,metric,boots,difference,kernel,emulator,day"
SEQ_GET = CaseKey("local-storage", "local-storage-cache-seq-get", (("nr_maps", "16"),))


def folder_with(path: Path, *rows: str) -> Path:
    (path / "repeatability.csv").write_text("\n".join([HEADER, *rows, ""]))
    return path


def row(case: str, difference: str, metric: str = "hits-latency") -> str:
    return f"{case},{metric},4,{difference},6.12.117,QEMU 7.2.22,2026-11-22"


def test_a_measured_case_repeats_within_twice_what_was_seen(tmp_path: Path) -> None:
    measured, errors = read_repeatability(
        folder_with(tmp_path, row(str(SEQ_GET), "0.00401"), row("rename-base", "0.0"))
    )

    assert errors == ()
    assert measured.of(SEQ_GET, "hits-latency") == pytest.approx(MARGIN * 0.004 + 0.0001)
    assert measured.of(CaseKey("rename", "rename-base"), "hits-latency") == LEAST
    assert measured.of(SEQ_GET, "hits-throughput") is None


def test_a_service_keeps_a_cases_parameters_by_their_names_and_knows_it_all_the_same(tmp_path: Path) -> None:
    measured, _ = read_repeatability(folder_with(tmp_path, row("lookup/nr_maps=1/keys=10", "0.01")))

    assert measured.of(
        CaseKey("s", "lookup", (("keys", "10"), ("nr_maps", "1"))), "hits-latency"
    ) == pytest.approx(0.02)
    assert measured.of(CaseKey("s", "lookup", (("keys", "1"), ("nr_maps", "10"))), "hits-latency") is None


def test_a_folder_without_measurements_has_none(tmp_path: Path) -> None:
    measured, errors = read_repeatability(tmp_path)

    assert errors == ()
    assert measured.of(SEQ_GET, "hits-latency") is None


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        ([row("a", "much")], 2, "'difference' must be a number from 0 on"),
        ([row("a", "-0.1")], 2, "'difference' must be a number from 0 on"),
        ([row("a", "nan")], 2, "'difference' must be a number from 0 on"),
        (["a"], 2, "'difference' must be a number from 0 on"),
        ([row("a", "0"), row("a", "0.1")], 3, "a hits-latency stands here twice"),
    ],
)
def test_a_wrong_row_is_an_error_with_its_line(
    tmp_path: Path, rows: list[str], line: int, message: str
) -> None:
    _, errors = read_repeatability(folder_with(tmp_path, *rows))

    assert [(error.line, error.reason) for error in errors] == [(line, message)]


def test_other_columns_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "repeatability.csv").write_text("case,difference\na,0\n")
    _, errors = read_catalogue(tmp_path)

    assert f"the columns must be {HEADER.replace(',', ', ')}" in [error.reason for error in errors]


def test_the_installed_measurements_are_of_cases_of_the_catalogue() -> None:
    catalogue = load_catalogue()
    cases = {
        frozenset(str(CaseKey(suite.name, benchmark.name, case.params)).split("/"))
        for suite in catalogue.suites
        for benchmark in suite.benchmarks
        if benchmark.icount.assume == "exact"
        for case in benchmark.cases
    }

    # Which programs an object has, only its load tells.
    measured = {
        frozenset(part for part in case if not part.startswith("program="))
        for case, _ in catalogue.repeatability.differences
    }
    assert measured <= cases


def test_under_icount_the_measurement_counts_and_else_what_the_suite_says() -> None:
    catalogue = load_catalogue()
    unmeasured = SEQ_GET._replace(params=(("nr_maps", "7"),))

    assert catalogue.traits(SEQ_GET, "insns/op", "insns/op", "icount").repeatability == LEAST
    assert catalogue.traits(unmeasured, "insns/op", "insns/op", "icount").repeatability == 0.0005
    assert catalogue.traits(SEQ_GET, "hits-latency", "ns/op", "walltime").assume == "nothing"
