"""Which metric decides a case: its kind's, or the one that the suite names."""

from pathlib import Path

from cliffwatch.catalogue.load import Catalogue
from cliffwatch.catalogue.read import read_suite
from cliffwatch.catalogue.suite import Suite
from cliffwatch.samples import CaseKey

SUITE = """\
title = "Loops"
about = "For a test."

[profiles]
smoke = { warmup = 1, duration = 1 }
standard = { warmup = 1, duration = 2 }
full = { warmup = 1, duration = 5 }

[[benchmark]]
name = "bpf-loop"
kind = "ops"
since = "5.17"
about = "Loops"
deadline = 30
PRIMARY
icount = { assume = "exact", repeatability = 0.001 }
[[benchmark.sweep]]
params = { nr_loops = [10] }
profiles = ["smoke"]
"""


def deciding(tmp_path: Path, primary: str) -> set[str]:
    path = tmp_path / "loops" / "suite.toml"
    path.parent.mkdir()
    path.write_text(SUITE.replace("PRIMARY", primary))
    suite = read_suite(path)
    assert isinstance(suite, Suite)
    catalogue, case = Catalogue((suite,)), CaseKey("loops", "bpf-loop", (("nr_loops", "10"),))
    return {
        metric
        for metric, spec in suite.metrics.items()
        for mode in ("walltime", "icount", None)
        if catalogue.traits(case, metric, spec.unit, mode).primary
    }


def test_the_kind_says_which_metric_decides(tmp_path: Path) -> None:
    assert deciding(tmp_path, "") == {"latency"}


def test_a_suite_may_let_another_metric_decide(tmp_path: Path) -> None:
    assert deciding(tmp_path, 'primary = "throughput"') == {"throughput"}


def test_only_a_metric_that_the_kind_prints_can_decide(tmp_path: Path) -> None:
    path = tmp_path / "loops" / "suite.toml"
    path.parent.mkdir()
    path.write_text(SUITE.replace("PRIMARY", 'primary = "drops"'))
    errors = read_suite(path)

    assert not isinstance(errors, Suite)
    assert [(error.line, error.reason) for error in errors] == [(15, "kind 'ops' prints no metric 'drops'")]
