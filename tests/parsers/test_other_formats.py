"""Go benchmark format, veristat CSV and Bencher Metric Format."""

import json
import math
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.formats.values import LINE
from cliffwatch.parsers.detect import parse_any
from cliffwatch.parsers.documents.bencher import parse_bencher
from cliffwatch.parsers.go.names import metric_of, unit_of
from cliffwatch.parsers.go.writing import ExportedUnit, go_bench_lines
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.readings import Parsed
from cliffwatch.parsers.veristat import parse_veristat
from cliffwatch.samples import Arm, Assumed, Boot, CaseKey, MetricTraits, Sample

CILIUM = """\
goos: linux
goarch: amd64
pkg: github.com/cilium/ebpf/ringbuf
cpu: AMD Ryzen 7 3700X 8-Core Processor
BenchmarkReader/read_batch_1_sample_size_32-16         1000000	      1052 ns/op	   210.5 bpf_ns/op	  13 B/op	   0 allocs/op
BenchmarkReader/read_batch_1_sample_size_32-16         1000000	      1060 ns/op	   211.0 bpf_ns/op	  13 B/op	   0 allocs/op
PASS
ok  	github.com/cilium/ebpf/ringbuf	3.142s
"""


def test_a_go_benchmark_gives_a_value_a_unit() -> None:
    parsed = parse_go_bench(CILIUM)

    assert parsed.problems == ()
    first = parsed.samples[:4]
    assert [(sample.metric, sample.unit, sample.value) for sample in first] == [
        ("ns/op", "ns/op", 1052.0),
        ("bpf_ns/op", "ns/op", 210.5),
        ("B/op", "B/op", 13.0),
        ("allocs/op", "allocs/op", 0.0),
    ]
    assert first[0].case.benchmark == "Reader/read_batch_1_sample_size_32"
    assert first[0].case.params == (("procs", "16"),)
    assert first[0].case.suite == "github.com/cilium/ebpf/ringbuf"


def test_a_line_that_is_no_result_is_reported() -> None:
    parsed = parse_go_bench("BenchmarkX 10 five ns/op\nfatal error: all goroutines are asleep\n")

    assert [problem.line for problem in parsed.problems] == [1, 2]


names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(benchmark=names, params=st.dictionaries(names, names, max_size=3), value=numbers)
def test_what_is_exported_comes_back(benchmark: str, params: dict[str, str], value: float) -> None:
    case = CaseKey("local-storage", benchmark, tuple(params.items()))
    sample = Sample(case=case, metric="hits-latency", unit="ns/op", value=value)
    boot = Boot(index=1, block=0, samples=(sample,))
    arm = Arm(name="base", label="x", mode="icount", platform="emulated-x86-64", boots=(boot,))
    traits = MetricTraits(better="lower", assume="exact")

    lines = go_bench_lines([arm], [ExportedUnit("hits-latency-ns/op", traits)])
    (back,) = parse_go_bench("\n".join(lines)).samples

    assert back.case == case
    assert (back.metric, back.unit) == ("hits-latency", "ns/op")
    assert math.isclose(back.value, value) or back.value == value


def test_metrics_and_units_survive_the_way_through_the_format() -> None:
    for metric, unit in (
        ("hits", "M ops/s"),
        ("latency-p99", "ns/op"),
        ("memory", "MiB"),
        ("bpf_ns/op", "ns/op"),
    ):
        assert metric_of(unit_of(metric, unit)) == (metric, unit)


VERISTAT = """\
file_name,prog_name,verdict,duration,total_insns,total_states
bpf_flow.bpf.o,flow_dissector_0,success,3201,1421,88
loop.bpf.o,while_true,failure,100,5,1
"""


def test_veristat_gives_a_metric_a_column_and_tells_programs_that_fail() -> None:
    parsed = parse_veristat(VERISTAT)

    assert [(sample.metric, sample.value) for sample in parsed.samples[:3]] == [
        ("duration", 3201.0),
        ("total_insns", 1421.0),
        ("total_states", 88.0),
    ]
    assert parsed.samples[0].case.benchmark == "bpf_flow.bpf.o/flow_dissector_0"
    assert "refuses loop.bpf.o/while_true" in parsed.problems[0].reason


def test_bencher_measures_are_values_with_their_bounds() -> None:
    text = json.dumps(
        {"adapter::rust": {"latency": {"value": 88.0, "lower_value": 87.0, "upper_value": 89.5}}}
    )
    (sample,) = parse_bencher(text).samples

    assert (sample.case.benchmark, sample.metric, sample.unit, sample.value) == (
        "adapter::rust",
        "latency",
        "ns",
        88.0,
    )
    assert sample.readings == (87.0, 89.5)


ODD = "a\nb\t\x01\x85"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({ODD: {ODD: {"value": 5}}}),
        'file_name,prog_name,verdict,total_insns\na.o,"p\tq\x07",success,30\n',
        "BenchmarkB\x07/p=v\x01 1 5 ns\x02/op\n",
    ],
    ids=["bencher", "veristat", "go"],
)
def test_names_of_other_programs_are_one_line(text: str) -> None:
    """Documents take no others."""
    (sample,) = parse_any(text).samples

    names = [sample.case.benchmark, *(name for name, _ in sample.case.params), sample.metric, sample.unit]
    assert all(re.fullmatch(LINE, name) for name in names), names


def test_hostile_json_is_a_problem_and_no_crash() -> None:
    for text in (
        "{" * 100_000,
        '{"a": {"b": {"value": NaN}}}',
        '{"a": {"b": {"value": 1e999}}}',
        '{"a": []}',
        "{1}",
    ):
        parsed = parse_any(text)

        assert parsed.samples == ()
        assert parsed.problems


def test_the_format_is_recognised_by_the_content() -> None:
    assert parse_any(CILIUM).samples[0].metric == "ns/op"
    assert parse_any(VERISTAT).samples[0].case.suite == "veristat"
    assert (
        parse_any("".join(f"> {line}\n" for line in CILIUM.splitlines())).samples == parse_any(CILIUM).samples
    )


def test_unit_lines_say_what_may_be_assumed_of_a_metric() -> None:
    parsed = parse_go_bench(
        "Unit ns/op better=lower assume=exact\nUnit widgets better=higher\nBenchmarkX 1 5 ns/op 7 widgets\n"
    )

    assert parsed.assumed[("ns/op", "ns/op")] == Assumed("lower", "exact")
    assert parsed.assumed[("widgets", "widgets")] == Assumed("higher", None)


def test_the_verifier_counts_exactly_but_for_its_time() -> None:
    parsed = parse_veristat("file_name,prog_name,verdict,duration,total_insns\na.o,p,success,120,300\n")

    assert parsed.assumed == {("total_insns", "insns"): Assumed("lower", "exact")}


ONE_PROGRAM = "file_name,prog_name,verdict,duration,total_insns\na.bpf.o,prog,success,10,100\n"


def test_two_programs_of_one_name_are_never_taken_for_one() -> None:
    """Veristat prints the names of objects without their folders."""
    parsed = parse_veristat(f"{ONE_PROGRAM}a.bpf.o,prog,success,10,300\nb.bpf.o,prog,success,10,7\n")

    assert {sample.case.benchmark for sample in parsed.samples} == {"b.bpf.o/prog"}
    (problem,) = parsed.problems
    assert (problem.line, problem.reason.partition(":")[0]) == (3, "it is there twice, with other counts")
    assert problem.lost is not None
    assert problem.lost.case.benchmark == "a.bpf.o/prog"


@pytest.mark.parametrize("again", ["a.bpf.o,prog,success,20,100\n", ONE_PROGRAM.replace("100", "300")])
def test_a_program_that_is_loaded_again_or_on_another_kernel_is_measured_twice(again: str) -> None:
    parsed = parse_veristat(ONE_PROGRAM + again)

    assert parsed.problems == ()
    assert len([sample for sample in parsed.samples if sample.metric == "total_insns"]) == 2


def test_the_comparison_of_an_older_veristat_has_the_same_metrics() -> None:
    text = """$ ./veristat -C -e file,prog,insns,states base.csv new.csv | grep -v '+0'
File             Program           Total insns (A)  Total insns (B)  Total insns (DIFF)  Total states (A)  Total states (B)  Total states (DIFF)
---------------  ----------------  ---------------  ---------------  ------------------  ----------------  ----------------  -------------------
test_l4lb.bpf.o  balancer_ingress             4559             5469      +910 (+19.96%)               118               126          +8 (+6.78%)
"""
    parsed = parse_veristat(text)

    assert [(each.arm, each.sample.metric, each.sample.unit, each.sample.value) for each in parsed.found] == [
        ("base", "total_insns", "insns", 4559.0),
        ("base", "total_states", "states", 118.0),
        ("comp", "total_insns", "insns", 5469.0),
        ("comp", "total_states", "states", 126.0),
    ]


@pytest.mark.parametrize(
    ("parse", "result"),
    [
        (parse_go_bench, "BenchmarkMapLookup-8   1000   {} ns/op\n"),
        (parse_veristat, "file_name,prog_name,verdict,total_insns\na.o,p,success,{}\n"),
    ],
)
def test_headings_name_the_sides_of_a_comparison(parse: Callable[[str], Parsed], result: str) -> None:
    text = f"It is faster.\n\nBefore:\n\n{result.format(110)}\nAfter:\n\n{result.format(90)}"

    assert [(each.arm, each.sample.value) for each in parse(text).found] == [("base", 110.0), ("head", 90.0)]
    alone = f"Before:\n\n{result.format(110)}{result.format(110)}"
    assert {each.arm for each in parse(alone).found} == {""}


def test_a_side_that_has_a_benchmark_again_is_another_arm() -> None:
    result = "BenchmarkA-8 100 {} ns/op\n"
    text = f"Before:\n{result.format(10)}After v1:\n{result.format(9)}After v2:\n{result.format(5)}"
    found = parse_go_bench(f"{text}After:\nBenchmarkB-8 100 7 ns/op\n").found

    assert [(each.arm, each.sample.value) for each in found] == [
        ("base", 10.0),
        ("head", 9.0),
        ("head-2", 5.0),
        ("head", 7.0),
    ]


def test_a_program_that_a_side_has_twice_with_other_counts_is_lost() -> None:
    table = "file_name,prog_name,verdict,total_insns\na.o,p,success,{}\n"
    parsed = parse_veristat(
        f"Before:\n{table.format(1)}\nAfter v1:\n{table.format(2)}\nAfter v2:\n{table.format(3)}"
    )

    assert [(each.arm, each.sample.value) for each in parsed.found] == [("base", 1.0)]
    assert parsed.problems[0].reason.startswith("head: it is there twice, with other counts")
