"""Units that a service takes: those of bench's lines, and those that the catalogue's suites declare."""

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch_service.ingest.uploads import known_units


def test_units_of_bench_and_of_programs_are_known() -> None:
    suites = {suite.name: suite for suite in load_catalogue().suites}

    assert {"ns/op", "M ops/s"} <= known_units()
    assert {spec.unit for spec in suites["percpu-traversal"].metrics.values()} <= known_units()
    assert "parsecs" not in known_units()
