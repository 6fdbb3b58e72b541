"""What other tools write: read, or refused by its name with the way out."""

import json
from pathlib import Path

import pytest
from reading import CASES, compared, read

CASE = CASES / "go-test-json-and-utf16"


def event(package: str, output: str, test: str = "") -> str:
    return json.dumps(
        {"Action": "output", "Package": package, "Output": output} | ({"Test": test} if test else {})
    )


def test_go_test_as_json_is_what_go_test_prints() -> None:
    (row,) = compared(CASE / "base.json", CASE / "head.json")["comparisons"]

    assert (row["benchmark"], row["metric"], row["n_base"], row["verdict"]) == (
        "Add",
        "ns/op",
        6,
        "regression",
    )
    assert row["suite"] == "example.com/ring"


def test_packages_that_ran_at_once_are_told_apart() -> None:
    events = [
        "go: downloading example.com/x v1.0.0",
        event("a", "goos: linux\n"),
        event("b", "goos: linux\n"),
        event("a", "BenchmarkX-8    \t", "BenchmarkX"),
        event("b", "BenchmarkX-8    \t", "BenchmarkX"),
        event("b", "  10\t", "BenchmarkX"),
        event("a", "  10\t  5 ns/op\n", "BenchmarkX"),
        event("b", "  7 ns/op\t 3 B/op\n", "BenchmarkX"),
        event("a", "PASS\n"),
        '{"Action":"pass","Package":"a"}',
        event("b", "BenchmarkY-8 10 9 ns/op", "BenchmarkY"),
    ]
    found = read("\n".join(events))

    assert found.of("ns/op") == [("X/procs=8", 5.0), ("X/procs=8", 7.0), ("Y/procs=8", 9.0)]
    assert found.of("B/op") == [("X/procs=8", 3.0)]
    assert found.problems == ["not an event of `go test -json`; it was skipped"]


def test_utf16_and_byte_order_marks_are_read() -> None:
    assert [value for _, value in read(CASE / "base-utf16.txt").of("ns/op")][:2] == [100.5, 100.6]
    found = read(CASE / "bom.json")
    assert found.values == [("lookup", "latency", 12.0, "ns"), ("lookup", "throughput", 1.5e6, "ops/s")]
    assert len(found.problems) == 2
    big_endian = (CASE / "base-utf16.txt").read_bytes().decode("utf-16").encode("utf-16-be")
    assert read(b"\xfe\xff" + big_endian) == read(CASE / "base-utf16.txt")
    assert read((CASE / "base.json").read_text().encode("utf-16")) == read(CASE / "base.json")


@pytest.mark.parametrize(
    "lines",
    [
        "BenchmarkAdd-8   \t1000000\t      100.5 ns/op\n      16 B/op\t       1 allocs/op\n",
        "BenchmarkAdd-8   \t1000000\t      100.5 ns/op\t      16\nB/op\t       1 allocs/op\n",
        "BenchmarkAdd-8   \t1000000\n      100.5 ns/op\t      16 B/op\t       1 allocs/op\n",
        "BenchmarkAdd-8\n1000000\t      100.5 ns/op\t      16 B/op\t       1 allocs/op\n",
        "> BenchmarkAdd-8   \t1000000\t      100.5 ns/op\n> 16 B/op\t       1 allocs/op\n",
    ],
)
def test_result_lines_that_mail_wrapped_are_whole(lines: str) -> None:
    found = read(f"pkg: x\n{lines}PASS\n")

    assert found.values == [
        ("Add/procs=8", "ns/op", 100.5, "ns/op"),
        ("Add/procs=8", "B/op", 16.0, "B/op"),
        ("Add/procs=8", "allocs/op", 1.0, "allocs/op"),
    ]
    assert found.problems == []


def google(*entries: dict[str, object], **context: object) -> str:
    return json.dumps({"context": {"num_cpus": 8, **context}, "benchmarks": list(entries)})


def test_google_benchmark_is_read() -> None:
    assert read(CASE / "google.json").values == [
        ("BM_Lookup/8", "real_time", 12.5, "ns/op"),
        ("BM_Lookup/8", "cpu_time", 12.4, "ns/op"),
        ("BM_Lookup/8", "items_per_second", 8e7, "items/s"),
    ]


def test_repetitions_are_values_and_aggregates_of_them_are_not() -> None:
    run = {"name": "BM_X", "run_name": "BM_X", "run_type": "iteration", "time_unit": "us", "iterations": 10}
    mean = {**run, "name": "BM_X_mean", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 9.0}
    cv = {**mean, "name": "BM_X_cv", "aggregate_name": "cv", "aggregate_unit": "percentage", "real_time": 0.1}
    found = read(google({**run, "real_time": 1.5}, {**run, "real_time": 1.25}, mean, cv))
    assert found.values == [("BM_X", "real_time", 1500.0, "ns/op"), ("BM_X", "real_time", 1250.0, "ns/op")]

    alone = read(google(mean, cv))
    assert alone.values == [("BM_X", "real_time", 9000.0, "ns/op")]
    assert "only aggregates" in alone.problems[0]


def test_what_google_benchmark_doubts_is_said() -> None:
    failed = {"name": "BM_X", "error_occurred": True, "error_message": "no device"}
    good = {"name": "BM_Y", "real_time": 1.0, "time_unit": "ns", "drops": 3.0, "rate": float("nan")}
    found = read("2024-01-02 Running ./b\n***WARNING***\n" + google(failed, good, library_build_type="debug"))

    assert found.values == [("BM_Y", "real_time", 1.0, "ns/op"), ("BM_Y", "drops", 3.0, "drops")]
    assert [reason[:22] for reason in found.problems] == [
        "failed: no device",
        "rate is not a finite n",
        "Google Benchmark was b",
    ]


def test_both_sides_of_google_benchmark_compare_in_one_unit(tmp_path: Path) -> None:
    run = {"name": "BM_X", "run_type": "iteration"}
    files = [tmp_path / "base.json", tmp_path / "head.json"]
    files[0].write_text(
        google(*({**run, "real_time": 1000.0 + each, "time_unit": "ns"} for each in range(8)))
    )
    files[1].write_text(
        google(*({**run, "real_time": 1.2 + each / 1e3, "time_unit": "us"} for each in range(8)))
    )
    (row,) = compared(*files)["comparisons"]

    assert (row["verdict"], row["better"], row["unit"]) == ("regression", "lower", "ns/op")
    assert row["change"] == pytest.approx(0.2, abs=0.001)


def test_a_benchmark_that_failed_on_one_side_is_failed_and_not_compared(tmp_path: Path) -> None:
    good = {"name": "BM_X", "real_time": 1.0, "time_unit": "ns"}
    failed = {"name": "BM_X", "error_occurred": True, "error_message": "no device"}
    run = {"command": "x", "mean": 1, "times": [1.0, 2.0], "exit_codes": [0, 0]}
    all_failed = {**run, "exit_codes": [1, 1]}
    sides = {
        "no device": (google(good), google(failed)),
        "2 of its runs ended with an error": tuple(
            json.dumps({"results": [each]}) for each in (run, all_failed)
        ),
    }
    for why, texts in sides.items():
        files = [tmp_path / "base.json", tmp_path / "head.json"]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        rows = compared(*files)["comparisons"]

        assert {row["verdict"] for row in rows} == {"failed"}
        assert all(why in row["reason"] for row in rows)


def test_hyperfine_is_read() -> None:
    found = read(CASE / "hyperfine.json")
    assert found.values == [("./bench trig-nop", "time", each, "s") for each in (1.2, 1.23, 1.26)]
    result = {
        "command": "x",
        "mean": 1,
        "times": [1.0, 2.0, 3.0],
        "exit_codes": [0, 1, 0],
        "parameters": {"n": "4"},
    }
    found = read(json.dumps({"results": [result, {"command": "y", "mean": 1.5, "median": 1.4}]}))
    assert found.of("time") == [("x/n=4", 1.0), ("x/n=4", 3.0), ("y", 1.4)]
    assert found.problems == [
        "failed: 1 of its runs ended with an error",
        "it has no times of single runs: one value per command",
    ]


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ((CASE / "list.json").read_text(), "github-action-benchmark's list"),
        ('{"lastUpdate": 1, "repoUrl": "x", "entries": {"Benchmark": []}}', "github-action-benchmark's data"),
        ("window.BENCHMARK_DATA = {}", "github-action-benchmark's data"),
        ('[{"jmhVersion": "1.37", "benchmark": "a.B.c", "primaryMetric": {"score": 1}}]', "JMH's JSON"),
        (
            "Benchmark        Mode  Cnt  Score   Error  Units\na.B.c  thrpt   5  1.0 ± 0.1  ops/s\n",
            "JMH's console output",
        ),
        ('{"reason": "benchmark-complete", "id": "x", "typical": {}}', "Criterion's JSON"),
        ('{"mean": {"point_estimate": 1.0}, "median": {}, "std_dev": {}}', "Criterion's JSON"),
        ("x    time:   [1.2345 ns 1.2400 ns 1.2500 ns]\n", "Criterion's console output"),
        (
            '{"run_id": "a", "batch_id": "b", "stats": {"data": [1.0], "unit": "s"}, "tags": {"name": "x"}}',
            "Conbench's JSON",
        ),
        ('{"machine_info": {}, "benchmarks": [{"stats": {}}], "datetime": "x"}', "pytest-benchmark's JSON"),
        ('{"benchmarks": [{"runs": []}], "version": "1.0"}', "pyperf's JSON"),
        ('{"Title": "x", "HostEnvironmentInfo": {}, "Benchmarks": []}', "BenchmarkDotNet's JSON"),
        ('{"format": "cliffwatch-comparison", "format_version": 1}', "a report of Cliffwatch"),
        (
            "Benchmark 1: sleep 1\n  Time (mean ± \u03c3):      1.002 s ±  0.001 s\n",
            "hyperfine's console output",
        ),
        ("command,mean,stddev,median,user,system,min,max\nx,1,0,1,0,0,1,1\n", "hyperfine's CSV"),
        (
            (
                "---\nBenchmark        Time             CPU   Iterations\n---\nBM_X   12.5 ns    12.4 ns  "
                " 1000\n"
            ),
            "Google Benchmark's console output",
        ),
        ("name,iterations,real_time,cpu_time,time_unit,bytes_per_second\n", "Google Benchmark's CSV"),
        (
            "goos\n      │  old.txt │     new.txt      │\n      │  sec/op  │  sec/op  vs base │\n",
            "benchstat's table",
        ),
        (
            "goos: linux\npkg: x/y\n              │   old.txt    │              new.txt               │\n",
            "benchstat's table",
        ),
        (
            "name          old time/op    new time/op    delta\nMarshal-8        812ns ± 2%     645ns ± 1%\n",
            "the table of an old benchstat",
        ),
        (
            (
                "benchmark              old ns/op     new ns/op     delta\n"
                "BenchmarkMarshal-8     812           645           -20.57%\n"
            ),
            "benchcmp's table",
        ),
        (
            "# started on Thu\n\n7012.31,msec,task-clock,7012310000,100.00,0.9,CPUs utilized\n",
            "perf stat's CSV",
        ),
        ("# Running 'sched/pipe' benchmark:\n       5.123456 usecs/op\n", "perf bench's output"),
        ("           123456 run_cnt\n         98765432 cycles\n", "the output of bpftool prog profile"),
        ("42: kprobe  name f  tag 01  gpl run_time_ns 912 run_cnt 12\n", "the output of bpftool prog show"),
    ],
)
def test_what_is_not_read_is_refused_by_its_name_with_the_way_out(document: str, name: str) -> None:
    found = read(document)

    assert found.exit_code == 2
    assert found.values == []
    (reason,) = found.problems
    assert reason.startswith(f"this is {name}")
    assert ": " in reason


@pytest.mark.parametrize("document", ["[1, 2]", "[]", '[[{"x": 1}]]'])
def test_json_that_nobody_knows_is_refused_with_what_is_taken(document: str) -> None:
    found = read(document)

    assert found.exit_code == 2
    assert found.values == []
    assert found.problems
