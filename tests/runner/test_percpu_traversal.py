"""The suite percpu-traversal: what its program prints is what the suite declares, and it refuses what it
cannot measure.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from toy import TESTS

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch_runner.results.case_output import parse_case, program_failure

SUITE = next(suite for suite in load_catalogue().suites if suite.name == "percpu-traversal")
OUTPUTS = TESTS / "data" / "suites" / "outputs"
PERCENTILES = {"p10", "p25", "p50", "p90", "p95"}


def case_of(benchmark: str) -> PlannedCase:
    return next(case for case in SUITE.cases("smoke") if case.key.benchmark == benchmark)


def recorded(benchmark: str) -> str:
    return (OUTPUTS / f"{benchmark}-6.12-tcg.out").read_text()


@pytest.mark.parametrize(
    ("benchmark", "metrics"),
    [
        ("percpu-lookup", {"ns/element", "ns/element/cpu", "us/dump", *PERCENTILES, "p99.9"}),
        ("percpu-batch", {"ns/element", "ns/element/cpu", "us/dump", *PERCENTILES}),
        ("percpu-delete-batch", {"ns/element", "ns/element/cpu", "us/dump", *PERCENTILES}),
        ("percpu-iter", {"ns/element", "ns/element/cpu", "us/dump", *PERCENTILES}),
        ("percpu-foreach", {"ns/element", "ns/element/cpu", "us/dump"}),
        ("percpu-batch-inside", {"kernel-mean", *(f"kernel-{each}" for each in PERCENTILES)}),
    ],
)
def test_what_the_program_printed_on_6_12_is_what_the_suite_declares(
    benchmark: str, metrics: set[str]
) -> None:
    case, text = case_of(benchmark), recorded(benchmark)
    parsed = parse_case(case, text, "")

    assert parsed.problems == ()
    assert program_failure(0, case, parsed, (text, "")) is None
    assert {sample.metric for sample in parsed.samples} == metrics
    assert {(sample.metric, sample.unit) for sample in parsed.samples} <= {
        (metric, spec.unit) for metric, spec in SUITE.metrics.items()
    }


def test_percentiles_rise() -> None:
    values = {
        sample.metric: sample.value
        for sample in parse_case(case_of("percpu-lookup"), recorded("percpu-lookup"), "").samples
    }
    ordered = [values[f"p{each}"] for each in ("10", "25", "50", "90", "95", "99.9")]

    assert ordered == sorted(ordered)
    assert values["ns/element/cpu"] == pytest.approx(values["ns/element"] / 8, rel=1e-4)


@pytest.fixture(scope="module")
def percpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as the suite says, with every warning an error."""
    assert SUITE.program is not None
    assert SUITE.source_file is not None
    folder = tmp_path_factory.mktemp("percpu") / "suite"
    shutil.copytree(SUITE.source_file.parent, folder)
    subprocess.run(
        SUITE.program.build.replace("-Wall", "-Wall -Wextra -Werror"), cwd=folder, shell=True, check=True
    )
    return folder / SUITE.program.run


def run(percpu: Path, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([percpu, *line.split()], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--way batch --entries 100 --fill 100 --value 8",
        "--way iter --entries 100 --fill 100 --value 8 --batch 16",
        "--way lookup --entries 100 --fill 100 --value 12",
        "--way lookup --entries 100 --fill 101 --value 8",
        "--way walk --entries 100 --fill 100 --value 8",
    ],
)
def test_arguments_that_make_no_sense_are_refused(percpu: Path, line: str) -> None:
    ended = run(percpu, line)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("percpu: --")


@pytest.mark.parametrize("way", ["lookup", "batch --batch 64", "delete --batch whole"])
def test_every_element_is_read_with_its_values(percpu: Path, way: str) -> None:
    """The program itself ends with 1 where a value is not the one that was written."""
    ended = run(percpu, f"--way {way} --entries 500 --fill 50 --value 16")
    if "Operation not permitted" in ended.stderr:
        pytest.skip("maps are not to be made here")

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("BenchmarkPercpu 200000 ")
