"""What a suite with a program says of its metrics: which decide, which not every case prints, and which do
not repeat.
"""

from pathlib import Path

import pytest

from cliffwatch.catalogue.load import Catalogue
from cliffwatch.catalogue.read import read_suite
from cliffwatch.catalogue.suite import Suite
from cliffwatch.samples import CaseKey, MetricTraits, Mode

SUITE = """\
title = "Lookups"

[program]
run = "lookup"
output = "go-bench"

[metrics]
"ns/op" = { unit = "ns/op", better = "lower", primary = true }
"p99.9" = { unit = "ns/op", better = "lower", optional = true, assume = "nothing" }

[[benchmark]]
name = "Lookup"
icount = { assume = "exact", repeatability = 0.001 }
"""


def catalogue(tmp_path: Path, text: str = SUITE) -> Catalogue:
    path = tmp_path / "lookups" / "suite.toml"
    path.parent.mkdir()
    path.write_text(text)
    suite = read_suite(path)
    assert isinstance(suite, Suite), suite
    return Catalogue((suite,))


def traits(tmp_path: Path, metric: str, mode: Mode = "icount") -> MetricTraits:
    return catalogue(tmp_path).traits(CaseKey("lookups", "Lookup"), metric, "ns/op", mode)


def test_what_the_suite_marks_decides(tmp_path: Path) -> None:
    assert traits(tmp_path, "insns/op") == MetricTraits(
        better="lower", assume="exact", repeatability=0.001, primary=True
    )


def test_a_metric_may_be_noisy_where_its_benchmark_repeats(tmp_path: Path) -> None:
    assert traits(tmp_path, "p99.9") == MetricTraits(better="lower", assume="nothing", primary=False)


def test_what_is_printed_and_not_declared_decides_nothing(tmp_path: Path) -> None:
    assert not traits(tmp_path, "allocs").primary


@pytest.mark.parametrize("mode", ["icount", "walltime"])
def test_a_metric_may_be_counted_in_every_mode(tmp_path: Path, mode: Mode) -> None:
    text = SUITE.replace('optional = true, assume = "nothing"', 'optional = true, assume = "exact"')
    read = catalogue(tmp_path, text).traits(CaseKey("lookups", "Lookup"), "p99.9", "ns/op", mode)

    assert read == MetricTraits(better="lower", assume="exact", primary=False)


def test_a_metric_may_decide_under_icount_alone(tmp_path: Path) -> None:
    text = SUITE.replace("primary = true", 'primary = "icount"')
    read = catalogue(tmp_path, text)
    case = CaseKey("lookups", "Lookup")

    assert read.traits(case, "insns/op", "insns/op", "icount").primary
    assert not read.traits(case, "ns/op", "ns/op", "walltime").primary


def test_a_metric_may_have_a_repeatability_of_its_own(tmp_path: Path) -> None:
    text = SUITE.replace("primary = true", "primary = true, repeatability = 0.03")

    assert traits_in(tmp_path, text, "insns/op").repeatability == 0.03


def traits_in(tmp_path: Path, text: str, metric: str) -> MetricTraits:
    return catalogue(tmp_path, text).traits(CaseKey("lookups", "Lookup"), metric, "insns/op", "icount")


def test_a_metric_is_counted_or_noisy(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(SUITE.replace('assume = "nothing"', 'assume = "sometimes"'))
    errors = read_suite(path)

    assert not isinstance(errors, Suite)
    assert ["'assume' is 'sometimes'" in error.reason for error in errors] == [True]
