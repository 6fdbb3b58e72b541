"""Outputs whose banner is missing get names and parameters from what is there, and are never merged without a
word.
"""

import pytest
from reading import CASES, compared, read

from cliffwatch.parsers.bench.around import command_of, labels_of

CASE = CASES / "no-banner-merges-benchmarks"


def output(rate: float, banner: str = "", per_producer: float | None = None) -> str:
    one = (
        f"hits {rate:8.3f}M/s ({per_producer or rate:7.3f}M/prod), drops    0.000M/s, total operations"
        f" {rate:8.3f}M/s"
    )
    iters = "".join(f"Iter   {number} (  0.000us): {one}\n" for number in range(3))
    mean = f"hits {rate:8.3f} ± 0.000M/s ({per_producer or rate:7.3f}M/prod), drops 0.000 ± 0.000M/s"
    return f"{banner}{iters}Summary: {mean}, total operations {rate:8.3f} ± 0.000M/s\n"


def test_a_name_that_stands_only_where_it_started_is_the_name() -> None:
    rows = compared(CASE / "base.txt", CASE / "head.txt")["comparisons"]
    hits = {
        row["benchmark"]: (round(row["base"]), round(row["head"])) for row in rows if row["metric"] == "hits"
    }

    assert hits == {"count-global": (150, 150), "count-local": (149, 149), "trig-fentry": (40, 20)}


@pytest.mark.parametrize(
    ("banner", "name"),
    [
        ("Benchmark 'trig-tp' started.\n", "trig-tp"),
        ("$ sudo ./bench -w3 -d10 -a trig-tp\n", "trig-tp"),
        ("+ sudo ./bench trig-tp\n", "trig-tp"),
        ("root@vm:/mnt# taskset -c 1 /root/bench -q trig-tp | tee log\n", "trig-tp"),
        ("[root@vm ~]# ./bench -p4 trig-tp\n", "trig-tp/producers=4"),
        ("$ ./bench -p 4 -w1 trig-tp 2>&1\n", "trig-tp/producers=4"),
        ("$ ./bench --producers=4 trig-tp\n", "trig-tp/producers=4"),
        ("$ ./bench trig-tp -p1 -d5\n", "trig-tp"),
        ("$ ./bench --nr_loops 1000 bpf-loop\n", "bpf-loop/nr_loops=1000"),
        ("$ ./bench -c1 --rb-b2b --rb-batch-cnt 50 rb-libbpf\n", "rb-libbpf/rb-b2b=true/rb-batch-cnt=50"),
        ("$ ./bench bpf-rhashmap-full-update\n", "bpf-rhashmap-full-update"),
        (
            "$ ./bench -p4 trig-tp\nSetting up benchmark 'trig-tp'...\nBenchmark 'trig-tp' started.\n",
            "trig-tp/producers=4",
        ),
        ("$ ./bench -p4 rename-base\nSetting up benchmark 'trig-tp'...\n", "trig-tp"),
        ("Entries: 1000\nBenchmark 'trig-tp' started.\n", "trig-tp/entries=1000"),
        ("Benchmark 'trig-tp' started.\nEntries: 1,000\n", "trig-tp/entries=1000"),
        (
            "value_size: 8 bytes, # threads: 4\n1000 entries -\nBenchmark 'trig-tp' started.\n",
            "trig-tp/value_size=8/threads=4/entries=1000",
        ),
    ],
)
def test_names_and_parameters_come_from_what_is_there(banner: str, name: str) -> None:
    found = read(output(5, banner))

    assert found.of("hits") == [(name, 5.0)]
    assert found.problems == []


@pytest.mark.parametrize(
    "line",
    [
        "we ran bench on two machines",
        "the bench tool prints this",
        "bench: 1 error",
        "./bench",
        "make -C tools/testing/selftests/bpf bench",
        "./bench $NAME",
    ],
)
def test_words_about_bench_are_no_command(line: str) -> None:
    assert command_of(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "Kernel: 6",
        "Date: 20240102",
        "Run: 3",
        "Boot: 2",
        "Subject: 10 entries",
        "CPU0: 5 MHz",
        "see line: 7",
        "a: b",
    ],
)
def test_what_is_no_parameter_makes_no_other_case(line: str) -> None:
    assert labels_of(line) == {}


def test_labels_and_producers_keep_outputs_of_one_name_apart() -> None:
    labelled = "".join(
        output(rate, f"Entries: {count}\nBenchmark 'x' started.\n") for rate, count in ((5, 10), (4, 100))
    )
    assert read(labelled).of("hits") == [("x/entries=10", 5.0), ("x/entries=100", 4.0)]
    assert read(labelled).problems == []

    swept = "".join(
        output(rate, "Benchmark 'x' started.\n", rate / count) for rate, count in ((5, 1), (8, 2), (12, 4))
    )
    assert read(swept).of("hits") == [("x", 5.0), ("x/producers=2", 8.0), ("x/producers=4", 12.0)]
    assert read(swept).problems == []


@pytest.mark.parametrize(
    ("banner", "said"),
    [
        ("", ["3 outputs of 'unknown' cannot be distinguished: they were read as boots of one case"]),
        (
            "Benchmark 'x' started.\n",
            ["3 outputs of 'x' cannot be distinguished: they were read as boots of one case"],
        ),
        ("Setting up benchmark 'x'...\nBenchmark 'x' started.\n", []),
    ],
)
def test_outputs_that_nothing_tells_apart_are_said_to_be_boots(banner: str, said: list[str]) -> None:
    found = read(output(5, banner) + output(5.1, banner) + output(5.2, banner))

    assert [value for _, value in found.of("hits")] == [5.0, 5.1, 5.2]
    assert found.problems == said


def test_attaching_to_many_functions_is_a_kind() -> None:
    lines = "found 48342 functions\nattached in   0.530s\ndetached in   0.930s\n"
    framed = read(f"Setting up benchmark 'tracing-multi-attach'...\n{lines}")
    assert framed.values == [
        ("tracing-multi-attach", "functions", 48342.0, "functions"),
        ("tracing-multi-attach", "attach-time", 0.53, "s"),
        ("tracing-multi-attach", "detach-time", 0.93, "s"),
    ]
    assert framed.problems == []

    prefixed = "".join(f"test_kprobe_multi_bench_attach: {line}\n" for line in lines.splitlines())
    assert read(prefixed).of("attach-time") == [("test_kprobe_multi_bench_attach", 0.53)]
    twice = read(f"$ ./bench tracing-multi-attach\n{lines}{lines}")
    assert twice.of("attach-time") == [("tracing-multi-attach", 0.53)] * 2
    assert "read as boots" in twice.problems[0]


def test_a_new_map_that_prints_the_lines_of_an_old_one_is_named_by_its_command() -> None:
    lines = "0:hash_map_full_perf 400000 events per sec\n1:hash_map_full_perf 500000 events per sec\n"
    found = read(f"$ ./bench -p2 bpf-rhashmap-full-update\n{lines}")

    assert found.of("updates") == [("bpf-rhashmap-full-update/producers=2", 450000.0)]
