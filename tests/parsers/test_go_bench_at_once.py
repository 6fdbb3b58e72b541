"""A regular file of the Go benchmark format is read in one go: with the same answer as line by line."""

import math

from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.importing.arms import arms_from_parsed
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.readings import Parsed
from cliffwatch.parsers.sample_table import SampleTable
from cliffwatch.samples import Boot

names = st.sampled_from(["A", "A/size=4-8", "B-16", "BPF/bench=get/n=1-1", "BPF/bench=%67et/n=1-1", "", "C"])
numbers = st.one_of(
    st.sampled_from(
        ["1", "0", "007", "5.", ".5", "1.50", "-2.5", "1e3", "1.25e-07", "1_000", "+Inf", "nan", "five"]
    ),
    st.decimals(min_value=0, max_value=10**6, places=3).map(str),
)
units = st.sampled_from(["ns/op", "B/op", "allocs/op", "MB/s", "hits-Mops/s", "bpf_ns/op"])
results = st.builds(
    lambda name, count, pairs, blank: (
        f"Benchmark{name}{blank}{count}{blank}{blank.join(f'{a} {b}' for a, b in pairs)}"
    ),
    names,
    st.sampled_from(["1", "100", "x"]),
    st.lists(st.tuples(numbers, units), min_size=1, max_size=3),
    st.sampled_from([" ", "\t", " \t "]),
)
OTHERS = """PASS|pkg: example.org/a|suite: s|suite:|arm: base|arm: head|# base label: x|oh|Unit|Unit ns/op better=higher assume=exact
BenchmarkA|BenchmarkA 1 2|goos: linux| BenchmarkC 1 2 ns/op|# boot 1 of block 0, screen|#   ns/op step 0.25 readings 1 2
\x0bBenchmarkA 1 2 ns/op|> BenchmarkA 1 2 B/op||  """
others = st.sampled_from(OTHERS.replace("\n", "|").split("|"))
texts = st.lists(st.one_of(results, results, others), max_size=12).map("\n".join)


def one_by_one(text: str) -> Parsed:
    """Quoted as in mail, every text is cleaned and read line by line."""
    return parse_go_bench("".join(f"> {line}\n" for line in text.split("\n")))


def boots(parsed: Parsed) -> dict[str, tuple[Boot, ...]]:
    return {name: tuple(arm.boots) for name, arm in arms_from_parsed(parsed, "file").items()}


@given(texts.filter(lambda text: ">" not in text and "\x0b" not in text))
def test_all_at_once_is_the_same_as_line_by_line(text: str) -> None:
    at_once, careful = parse_go_bench(text), one_by_one(text)

    assert tuple(at_once.found) == tuple(careful.found)
    assert [(each.line, each.reason) for each in at_once.problems] == [
        (each.line, each.reason) for each in careful.problems
    ]
    assert (at_once.assumed, at_once.arms) == (careful.assumed, careful.arms)
    assert boots(at_once) == boots(careful)


@given(texts)
def test_whatever_the_text_every_value_is_a_number(text: str) -> None:
    assert all(math.isfinite(sample.value) for sample in parse_go_bench(text).samples)


def test_a_plain_file_becomes_columns() -> None:
    parsed = parse_go_bench(
        "goos: linux\nBenchmarkA-8 1 2.50 ns/op 3 B/op\nBenchmarkA-8 1 2.5 ns/op 4 B/op\nPASS\n"
    )

    assert isinstance(parsed.found, SampleTable)
    assert parsed.found.values.tolist() == [2.5, 2.5, 3.0, 4.0]
    assert parsed.found.resolutions.tolist() == [0.01, 0.01, 1.0, 1.0]
    assert [sample.unit for sample in parsed.samples] == ["ns/op", "B/op", "ns/op", "B/op"]
