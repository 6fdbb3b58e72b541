"""Outputs of bench as people keep them: results without banners, one after the other, filtered, wrapped, and
interrupted by the kernel.
"""

import re

import pytest

from cliffwatch.parsers.bench.kinds import KINDS
from cliffwatch.parsers.bench.lines import _HINT
from cliffwatch.parsers.bench.parse import parse_bench
from cliffwatch.parsers.readings import Parsed

SUMMARY = "Summary: hits {0:8.3f} ± 0.100M/s ({0:8.3f}M/prod), drops    0.000 ± 0.000M/s"
ITER = "Iter {0:3d} ({1:7.3f}us): hits {2:8.3f}M/s ({2:8.3f}M/prod), drops    0.000M/s"
BANNER = "Setting up benchmark 'trig-tp'...\nBenchmark 'trig-tp' started."


def primary(parsed: Parsed, metric: str = "hits") -> list[tuple[str, float]]:
    return [(each.case.benchmark, each.value) for each in parsed.samples if each.metric == metric]


def test_a_command_line_ends_the_output_before_it() -> None:
    text = "\n".join(
        ["+ ./bench -w1 trig-tp", SUMMARY.format(15), "+ ./bench -w1 trig-kprobe", SUMMARY.format(25)]
    )
    assert primary(parse_bench(text)) == [("trig-tp", 15.0), ("trig-kprobe", 25.0)]


def test_readings_after_a_command_line_are_not_of_the_output_that_was_cut_off_before_it() -> None:
    readings = [ITER.format(number, 1.0, rate) for rate in (10.0, 30.0) for number in range(4)]
    text = "\n".join(
        ["$ ./bench trig-tp", *readings[:4], "$ ./bench trig-kprobe", *readings[4:], SUMMARY.format(30)]
    )
    assert primary(parse_bench(text)) == [("trig-tp", 10.0), ("trig-kprobe", 30.0)]


@pytest.mark.parametrize(
    ("lines", "metric", "values"),
    [
        ([SUMMARY.format(20), SUMMARY.format(21)], "hits", [20.0, 21.0]),
        (
            [f"run{number}.log:{SUMMARY.format(20 + number)}" for number in range(3)],
            "hits",
            [20.0, 21.0, 22.0],
        ),
        (
            [f"bpf-nop: median 1.{number}4 ns/op, stddev 0.01, p99 1.30 (200 samples)" for number in (2, 3)],
            "latency",
            [1.24, 1.34],
        ),
        (
            [
                f"cpu{cpu:02d}: lookup {50 + run + cpu}.000M ± 0.1M events/sec (approximated from 10 samples"
                " of ~100ms)"
                for run in (0, 10)
                for cpu in (0, 1)
            ],
            "lookups",
            [50.5, 60.5],
        ),
    ],
)
def test_a_line_that_an_output_has_already_begins_another_and_that_is_said(
    lines: list[str], metric: str, values: list[float]
) -> None:
    parsed = parse_bench("\n".join(lines))
    assert [value for _, value in primary(parsed, metric)] == values
    assert [each.reason for each in parsed.problems] == [
        f"{len(values)} outputs of 'unknown' cannot be distinguished: they were read as boots of one case"
    ]


def test_a_benchmark_before_a_summary_is_its_name() -> None:
    text = f"trig-fexit: {SUMMARY.format(20)}\ntrig-fentry: {SUMMARY.format(30)}"
    assert primary(parse_bench(text)) == [("trig-fexit", 20.0), ("trig-fentry", 30.0)]


def test_rows_of_scripts_that_mail_wrapped_are_read() -> None:
    text = """hashmap (control) sequential    get:  hits throughput: 67.326 ± 0.202
M ops/s, hits latency: 14.853 ns/op, important_hits throughput: 67.326
± 0.202 M ops/s
hashmap (control) sequential    get:  hits throughput: 44.148 ± 0.132 M ops/s,
hits latency: 22.651 ns/op, important_hits throughput: 44.148 ± 0.132 M ops/s
overwrite            per-prod-op: 54.76 ± 0.16k/s, avg mem: 2.36 ±
0.01MiB, peak mem: 2.70MiB"""
    parsed = parse_bench(text)
    assert [value for _, value in primary(parsed, "hits-latency")] == [14.853, 22.651]
    assert [value for _, value in primary(parsed, "per-producer-ops")] == [54.76]


def test_rows_of_the_bloom_filters_script_are_read() -> None:
    text = "Lookups, total operations:  36.510 ± 0.110M/s (drops 0.000 ± 0.000M/s)"
    assert primary(parse_bench(text)) == [("Lookups total operations", 36.51)]


HITS = "{:<20} {:.3f} ± 0.012M/s (drops 0.000 ± 0.000M/s{})"


def cases(text: str, metric: str = "hits") -> dict[str, float]:
    return {
        str(sample.case).lstrip("/"): sample.value
        for sample in parse_bench(text).samples
        if sample.metric == metric
    }


def test_scripts_of_series_print_rows_of_their_own() -> None:
    """Forms of csum-diff, private-stack, qp-trie and dynptr-keyed hash maps, as posted to the list."""
    assert cases(HITS.format("4", 24.296, "")) == {"4": 24.296}
    assert cases(HITS.format("64-bytes-lookup", 9.296, "")) == {"64-bytes-lookup": 9.296}
    assert cases(HITS.format("no-private-stack: ", 2.3, "")) == {"no-private-stack": 2.3}
    total = HITS.format("bpf_for_each helper - total callbacks called: ", 41.3, "")
    assert cases(total) == {"bpf_for_each helper - total callbacks called": 41.3}
    of_memory = HITS.format("htab-lookup-p1-8192", 10.1, ", mem 2.31 MiB")
    assert cases(of_memory, "memory") == {"htab-lookup-p1-8192": 2.31}
    threads = HITS.format("qp-trie update   (16 thread)", 1.1, " mem 1.934 MiB")
    assert cases(threads) == {"qp-trie update/producers=16": 1.1}
    assert cases(threads, "memory") == {"qp-trie update/producers=16": 1.934}


def test_parameters_above_a_row_are_its_own_even_if_some_are_not_known() -> None:
    above = "\tmap capacity: 40000, num_entries: 2500, n_prefetch: {}\n"
    text = "".join(
        above.format(number) + HITS.format("batch: ", 10.0 + number, "") + "\n" for number in (0, 1)
    )

    assert cases(text) == {
        f"batch/map_capacity=40000/num_entries=2500/n_prefetch={number}": 10.0 + number for number in (0, 1)
    }
    assert parse_bench(text).problems == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Before:", "After:"),
        ("Before (raw_spinlock_t):", "After (rqspinlock_t):"),
        ("BEFORE (latest tip/perf/core)\n=============================", "AFTER\n====="),
        ("## Baseline", "## Patched"),
        ("Without this patch:", "With this patch:"),
        ("It takes two locks. Before this patch, the rate is:", "And after this patch, the rate is:"),
        ("It takes two locks. Before this series,\nthe rate is:", "With this series, the rate is:"),
        ("ringbufs (before):", "ringbufs (after):"),
        ("before-opt", "after-opt"),
        ("vanilla kernel:", "patched kernel:"),
        ("w/o the series", "w/ the series"),
    ],
)
def test_headings_name_the_sides_of_a_comparison(before: str, after: str) -> None:
    rows = "Ring buffer\n===========\n" + HITS.format("rb-libbpf nr_prod 2 ", 2.7, "")
    parsed = parse_bench(f"{before}\n\n{rows}\n\n{after}\n\n{rows.replace('2.700', '2.900')}\n")

    hits = [(each.arm, each.sample.value) for each in parsed.found if each.sample.metric == "hits"]
    assert hits == [("base", 2.7), ("head", 2.9)]
    assert len({each.sample.case for each in parsed.found}) == 1


def test_two_machines_in_one_mail_are_compared_each_with_itself() -> None:
    block = (
        "{}:\n\nBefore:\n" + HITS.format("rb", 1.0, "") + "\nAfter:\n" + HITS.format("rb", 2.0, "") + "\n\n"
    )
    parsed = parse_bench(block.format("AMD") + block.format("Intel").replace("1.000", "10.00"))

    hits = {
        (each.arm, dict(each.sample.case.params)["section"]): each.sample.value
        for each in parsed.found
        if each.sample.metric == "hits"
    }
    assert hits == {("base", "AMD"): 1, ("head", "AMD"): 2, ("base", "Intel"): 10, ("head", "Intel"): 2}


def test_two_versions_of_a_patch_are_not_one_side() -> None:
    rows = [HITS.format("rb", value, "") for value in (1.0, 2.0, 3.0)]
    parsed = parse_bench(f"Before:\n{rows[0]}\nAfter v1:\n{rows[1]}\nAfter v2:\n{rows[2]}")

    assert len({(each.arm, each.sample.case) for each in parsed.found}) == 3


@pytest.mark.parametrize(
    "text",
    [
        "Before each run the lock was taken.\n{0}\nAfter it, it was not.\n{0}",
        "Before:\n{0}\n{0}",
        "Before:\nAfter:\n{0}\n{0}",
    ],
)
def test_a_sentence_or_one_heading_alone_makes_no_comparison(text: str) -> None:
    parsed = parse_bench(text.format(HITS.format("rb-libbpf", 2.7, "")))

    assert {each.arm for each in parsed.found} == {""}


@pytest.mark.parametrize(
    ("headings", "sections"),
    [
        (("Random data (16K)", "Strings in /proc/kallsyms"), True),
        (("without spin-lock\n", "with spin-lock\n"), True),
        (("xol-stp\n-------", "simulated-stp\n-------------"), True),
        (("Run 1 of 2", "Run 2 of 2"), False),
        (("First run:", "Second run:"), False),
        (("Sat Nov 29 10:14:49 UTC 2026", "Sat Nov 29 10:15:02 UTC 2026"), False),
        (("A map of 1024 elements", "A map of 2048 elements"), True),
        (("$ ./benchs/run_bench_qp_trie.sh", "$ ./benchs/run_bench_qp_trie.sh"), False),
        (("", ""), False),
    ],
)
def test_rows_of_one_name_under_different_headings_are_different_cases(
    headings: tuple[str, str], sections: bool
) -> None:
    text = "\n".join(
        f"{heading}\n{HITS.format('htab lookup', value, '')}\n"
        for heading, value in zip(headings, (10.0, 9.0), strict=True)
    )
    parsed = parse_bench(text)
    found = [dict(sample.case.params).get("section") for sample in parsed.samples if sample.metric == "hits"]

    titles = [heading.partition("\n")[0].rstrip(":") for heading in headings]
    assert found == (titles if sections else [None, None])
    assert any("cannot be distinguished" in each.reason for each in parsed.problems) is not sections


def test_whole_outputs_under_paragraphs_of_their_own_are_different_cases() -> None:
    text = f"I see less.\n\nbpf-next/master\n\n{run_with()}\n\nfprobe on fgraph\n\n{run_with()}\n"
    assert {dict(each.case.params)["section"] for each in parse_bench(text).samples} == {
        "bpf-next/master",
        "fprobe on fgraph",
    }

    repeated = f"$ ./run\n{run_with()}\nreal 0m7.1s\nuser 0m1.1s\n$ ./run\n{run_with()}\n"
    assert {each.case.params for each in parse_bench(repeated).samples} == {()}


def test_lines_that_a_commit_message_cut_are_read() -> None:
    cut = [
        f"Iter   {number} (  1.000us): hits   {62 + number}.000M/s ( 62.000M/prod), [...]"
        for number in range(3)
    ]
    parsed = parse_bench("\n".join([BANNER, *cut, "Summary: hits   63.500 ± 0.083M/s ( 63.500M/prod)"]))
    assert primary(parsed) == [("trig-tp", 63.5)]
    assert parsed.problems == ()


def test_rows_of_summaries_with_throughput_and_latency_are_read_in_their_units() -> None:
    text = """  lookup: throughput    7.423 ± 0.023 M ops/s (  7.423M ops/prod), latency  134.710 ns/op
    free: throughput    0.574 ± 0.003 K ops/s (  0.574K ops/prod), latency    1.743 ms/op"""
    assert cases(text, "latency") == {"lookup": 134.71, "free": 1743000.0}
    assert cases(text, "throughput") == pytest.approx({"lookup": 7.423, "free": 0.000574}, rel=1e-3)


def test_a_remark_behind_a_row_is_not_read() -> None:
    assert cases("kprobe-multi-all:    6.283 ± 0.005M/s << look at this") == {"trig-kprobe-multi-all": 6.283}


@pytest.mark.parametrize("colon", [":", " :", ""])
def test_rows_of_htab_mem_have_colons_or_none(colon: str) -> None:
    row = f"overwrite  per-prod-op{colon} 54.76 ± 0.16k/s, avg mem{colon}  2.36 ± 0.01MiB, peak mem{colon}  2.70MiB"
    assert cases(row, "per-producer-ops") == {"overwrite": 54.76}
    assert cases(row, "peak-memory") == {"overwrite": 2.7}


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ("p50 | stddev | p99", "71.21 | 0.31 | 72.30"),
        (
            "n | p50 | stddev | CV | min | p90 | p99 | max",
            "123 | 71.21 | 0.31 | 0.44% | 70.90 | 71.50 | 72.30 | 75.10",
        ),
    ],
)
def test_the_table_of_the_xdp_load_balancers_script_is_read(columns: str, row: str) -> None:
    bar, empty = "  +-------+-----+", " | ".join("-" for _ in row.split("|")[1:])
    text = f"""{bar}
  | Single-flow baseline | {columns} |
{bar}
  | tcp-v4-lru-hit       | {row} |
  | tcp-v4-ch            |   ERR | {empty} |
{bar}"""
    parsed = parse_bench(text)

    assert cases(text, "latency") == {"xdp-lb/scenario=tcp-v4-lru-hit": 71.21}
    assert cases(text, "latency-p99") == {"xdp-lb/scenario=tcp-v4-lru-hit": 72.3}
    (problem,) = parsed.problems
    assert problem.lost is not None
    assert problem.lost.case.params == (("scenario", "tcp-v4-ch"),)


def test_the_timing_library_of_series_prints_more_percentiles() -> None:
    result = (
        "RESULT scenario=tcp-v4-ch samples=123 median=71.21 stddev=0.31 cv=0.44 min=70.90 p90=71.50 p95=71.90"
        " p99=72.30 max=75.10"
    )
    told = """Scenario: tcp-v4-ch - IPv4 TCP, consistent hashing
  median 71.21 ns/op, stddev 0.31, CV 0.44% [min 70.90, max 75.10]
  p50 71.21, p75 71.40, p90 71.50, p95 71.90, p99 72.30"""

    for text in (result, told):
        assert cases(text, "latency") == {"unknown/scenario=tcp-v4-ch": 71.21}
        assert cases(text, "latency-p99") == {"unknown/scenario=tcp-v4-ch": 72.3}


def run_with(*inside: str, summary: str = SUMMARY.format(20)) -> str:
    readings = [ITER.format(number, 1.0, 20.0) for number in range(7)]
    return "\n".join([BANNER, *readings[:3], *inside, *readings[3:], summary])


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        (
            (
                "[   12.345678] WARNING: CPU: 1 PID: 123 at kernel/bpf/core.c:1 foo+0x1/0x2",
                "[   12.345999] ---[ end trace 0000000000000000 ]---",
            ),
            (
                "doubtful: the kernel printed an error report while it ran: WARNING: CPU: 1 PID: 123 at"
                " kernel/bpf/core.c:1 foo+0x1/0x2"
            ),
        ),
        (
            ("libbpf: prog 'x': BPF program load failed: Permission denied",),
            "doubtful: a load failed while it ran: prog 'x': BPF program load failed: Permission denied",
        ),
    ],
)
def test_what_went_wrong_in_the_midst_of_a_run_makes_it_doubtful(
    inside: tuple[str, ...], reason: str
) -> None:
    parsed = parse_bench(run_with(*inside))
    assert [each.reason for each in parsed.problems] == [reason]
    assert parsed.found
    assert all(each.doubted for each in parsed.found)


def test_a_report_of_the_kernel_between_two_runs_is_of_neither() -> None:
    report = "[   12.345678] WARNING: CPU: 1 PID: 123 at kernel/bpf/core.c:1 foo+0x1/0x2"
    parsed = parse_bench(f"{run_with()}\n{report}\n{run_with()}")
    assert not parsed.problems
    assert not any(each.doubted for each in parsed.found)


def test_other_messages_of_libbpf_doubt_nothing() -> None:
    assert not parse_bench(run_with("libbpf: elf: skipping unrecognized data section(6) .rodata")).problems


def test_a_summary_that_is_no_number_disagrees() -> None:
    broken = SUMMARY.format(20).replace("20.000", "-nan")
    parsed = parse_bench(run_with(summary=broken))
    assert [each.reason for each in parsed.problems] == [
        "the Summary is not a number, but the Iter lines average 20"
    ]
    assert all(each.doubted for each in parsed.found)


def test_no_form_of_a_line_escapes_the_quick_look_at_it() -> None:
    """A line without these words is taken for prose before its form is looked at."""
    for kind in KINDS.values():
        for form in kind.forms:
            fixed = re.sub(r"\{\w*:?|\}|\[[^\[\]]*\]", "", form.text) + form.begin
            assert _HINT.search(fixed), (kind.name, form.text)
