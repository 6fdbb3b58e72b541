"""The real outputs of every benchmark of linux 6.12, and of what 7.3 has more, are read without a complaint."""

import json
from pathlib import Path

import pytest
from golden import assert_golden
from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.parsers.bench.kinds import KINDS
from cliffwatch.parsers.bench.parse import parse_bench
from cliffwatch.parsers.detect import parse_any

DATA = Path(__file__).parents[1] / "data"
SAMPLES = DATA / "bench-6.12-tcg"
NEWER = DATA / "bench-7.3-tcg"
OUTPUTS = sorted((*SAMPLES.glob("*.out"), *NEWER.glob("*.out")))
FAILED = "local-storage-create"


@pytest.mark.parametrize(
    "path",
    [path for path in OUTPUTS if path.stem != FAILED],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_a_real_output_has_values_and_no_problem(path: Path) -> None:
    parsed = parse_bench(path.read_text())

    assert parsed.problems == ()
    assert {sample.case.benchmark for sample in parsed.samples} == {path.stem}


def test_no_line_is_of_two_kinds() -> None:
    """Kinds are tried in the order of their names, which must not matter."""
    lines = {line.strip() for path in OUTPUTS for line in path.read_text().splitlines()}
    kinds = [
        [kind.name for kind in KINDS.values() if any(form.compiled.match(line) for form in kind.forms)]
        for line in lines
    ]

    assert max(map(len, kinds)) == 1


def test_a_failure_is_reported_with_libbpfs_reason() -> None:
    stderr = (SAMPLES / f"{FAILED}.err").read_text()
    parsed = parse_bench((SAMPLES / f"{FAILED}.out").read_text(), stderr=stderr)

    assert parsed.samples == ()
    reason = (
        "failed: prog 'socket_post_create': failed to find kernel BTF type ID of 'socket_post_create': -3"
    )
    assert [problem.reason for problem in parsed.problems] == [reason]
    assert [problem.reason for problem in parse_any(stderr).problems] == [reason]


@pytest.mark.parametrize("folder", [SAMPLES, NEWER], ids=lambda folder: folder.name)
def test_the_values_of_all_samples_are_those_that_were_looked_at(folder: Path) -> None:
    rows = {
        path.stem: [
            {
                "metric": each.metric,
                "unit": each.unit,
                "value": round(each.value, 6),
                "samples": list(each.readings),
            }
            for each in parse_bench(path.read_text()).samples
        ]
        for path in OUTPUTS
        if path.parent == folder
    }

    assert_golden(f"{folder.name}.json", json.dumps(rows, indent=1) + "\n")


@given(text=st.text(), stderr=st.text())
def test_no_text_raises(text: str, stderr: str) -> None:
    parse_any(text, stderr=stderr)


@given(data=st.data())
def test_no_damage_to_a_real_output_raises(data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(OUTPUTS)).read_bytes()
    cut = raw[: data.draw(st.integers(0, len(raw)))]
    position, junk = data.draw(st.integers(0, len(cut))), data.draw(st.binary(max_size=8))
    text = (cut[:position] + junk + cut[position:]).decode(errors="replace")

    for sample in parse_any(text).samples:
        assert sample.value == sample.value
