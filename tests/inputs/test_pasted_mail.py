"""Outputs of bench as mail, consoles and scripts have them: read, or said what they are."""

import pytest
from reading import CASES, read

CASE = CASES / "pasted-mail"
WRAPPED = (CASE / "wrapped.txt").read_text()
PLAIN = (CASE / "latin1.txt").read_bytes().decode("latin-1")
CONTROL = (
    "hashmap (control) sequential    get:  hits throughput: 13.895 ± 0.024 M ops/s, hits latency: 71.968"
    " ns/op, important_hits throughput: 13.895 ± 0.024 M ops/s"
)
HITS = [("crypto-decrypt", 5.0955)]


@pytest.mark.parametrize("name", ["wrapped.txt", "qp.txt", "latin1.txt"])
def test_an_output_out_of_a_mail_is_whole(name: str) -> None:
    found = read(CASE / name)

    assert found.of("hits") == HITS
    assert found.problems == []


@pytest.mark.parametrize(
    "sent",
    [
        WRAPPED.replace(">> ", "").replace(" \n", "\n"),
        WRAPPED.replace(">> ", "> | "[:2]),
        WRAPPED.replace("drops    \n>> 0.000M/s, total", "drops    0.000M/s,\n>> total"),
        PLAIN.replace("(", "\n(").replace("total", "\ntotal"),
        PLAIN.replace("=", "=3D").replace("±", "=C2=B1").replace(", total", "=\n, total"),
        PLAIN.replace("±", "Â±"),
        PLAIN.replace("±", "┬▒"),
        PLAIN.replace("±", "+/-"),
        PLAIN.encode("ascii", errors="replace"),
        PLAIN.encode("cp437"),
        PLAIN.encode("utf-16"),
        PLAIN.encode("ascii", errors="replace").replace(b"?", b"\xef\xbf\xbd"),
    ],
    ids=[
        "wrapped and not quoted",
        "wrapped and quoted once",
        "wrapped elsewhere",
        "wrapped in four",
        "quoted-printable without headers",
        "UTF-8 read as Latin-1",
        "UTF-8 read as code page 437",
        "plus and minus",
        "question marks",
        "code page 437 read as Windows'",
        "UTF-16",
        "replacement characters",
    ],
)
def test_so_are_outputs_that_other_programs_spoilt(sent: str | bytes) -> None:
    found = read(sent)

    assert found.of("hits") == HITS
    assert found.problems == []


def test_lines_of_a_kernel_s_log_are_outputs_where_bench_wrote_them() -> None:
    stamped = "".join(f"[   12.{number:06}] {line}\n" for number, line in enumerate(PLAIN.splitlines()))
    noise = "[   12.000003] perf: interrupt took too long\n"

    assert read(noise + stamped).of("hits") == HITS


def test_the_tables_of_upstream_s_scripts_are_read() -> None:
    assert read(CASE / "scripts.txt").of("hits") == [
        ("trig-uprobe-nop", 3.022),
        ("trig-uprobe-nop/producers=2", 6.028),
        ("trig-uprobe-nop/producers=64", 15.112),
    ]


@pytest.mark.parametrize(
    ("row", "metric", "value"),
    [
        ("base      :    5.969 ± 0.061M/s ", "hits", ("rename-base", 5.969)),
        ("usermode-count :  150.773 ± 0.029M/s", "hits", ("trig-usermode-count", 150.773)),
        ("rb-libbpf            43.433 ± 0.184M/s (drops 0.000 ± 0.000M/s)", "hits", ("rb-libbpf", 43.433)),
        (
            "bpf_loop:            throughput: 198.519 ± 0.155 M ops/s, latency: 5.037 ns/op",
            "latency",
            ("bpf_loop", 5.037),
        ),
        (
            CONTROL,
            "hits-latency",
            ("hashmap (control) sequential get", 71.968),
        ),
        (
            "overwrite            per-prod-op: 80.30 ± 2.09k/s, avg mem: 3.50 ± 0.03MiB, peak mem: 3.90MiB",
            "per-producer-ops",
            ("overwrite", 80.3),
        ),
    ],
)
def test_so_are_the_rows_of_the_others(row: str, metric: str, value: tuple[str, float]) -> None:
    found = read(f"{row}\n")

    assert found.of(metric) == [value]
    assert found.problems == []


def test_a_row_is_of_the_section_and_the_labels_above_it() -> None:
    found = read(
        "\nSingle-producer, parallel producer\n==================================\n"
        "rb-libbpf            43.433 ± 0.184M/s (drops 0.000 ± 0.000M/s)\n"
        "\nRingbuf back-to-back\n====================\n\tnr_loops: 10, nr_threads: 4\n"
        "rb-libbpf            20.000 ± 0.184M/s (drops 0.000 ± 0.000M/s)\n"
    )

    assert found.of("hits") == [
        ("rb-libbpf/section=Single-producer, parallel producer", 43.433),
        ("rb-libbpf/section=Ringbuf back-to-back/nr_loops=10/nr_threads=4", 20.0),
    ]
    assert found.problems == []
