"""What `cliffwatch submit` prints of a comparison besides its rows."""

import json
from dataclasses import replace

import pytest
from test_matched_layouts_told import measured, sides_with

from cliffwatch.comparing.compare_run import compare_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.comparison import RunComparison
from cliffwatch.formats.reading import convert_to
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.legend import placement_sentences
from cliffwatch_runner.command.sending.submit import _print_comparison


def test_the_terminal_says_what_the_page_says_besides_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    sides = replace(sides_with(measured("matched", 0.05)), control=measured("control", 0.0, confirm=0))
    compared = compare_run(sides)
    assert isinstance(compared, ComparisonSet)
    document = json.loads(json_report(compared, replace(NO_CONTEXT, notes=("each kernel has one layout",))))
    answer = convert_to({**document, "comparison": "of-a-run"}, RunComparison)
    assert isinstance(answer, RunComparison), answer

    _print_comparison(answer)
    said = capsys.readouterr().out
    assert "boots per kernel, in 10 layouts" in said
    assert "base vs base check in other layouts: 0 of 1 false positive" in said
    (placed,) = placement_sentences(compared.rows)
    assert placed in said
    assert "each kernel has one layout" in said
