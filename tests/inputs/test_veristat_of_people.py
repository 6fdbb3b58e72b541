"""veristat's output as people have it: with what it says before its header, its comparison of two, its
tables.
"""

from pathlib import Path

import pytest
from reading import CASES, compared, read

CASE = CASES / "veristat-real-files"
NOISE = (CASE / "noise.csv").read_text()
TABLE = (CASE / "table.txt").read_text()
COMPARED_TABLE = """\
File    Program  Verdict (A)  Verdict (B)  Verdict (DIFF)  Insns (A)  Insns (B)  Insns   (DIFF)
------  -------  -----------  -----------  --------------  ---------  ---------  --------------
file-a  a        success      success      MATCH                 120        150  +30 (+25.00%)
file-b  c        N/A          success      N/A                   N/A        320  N/A
------  -------  -----------  -----------  --------------  ---------  ---------  --------------
"""


def test_what_stands_before_the_header_is_said_and_the_rows_are_read() -> None:
    found = read(CASE / "noise.csv")

    assert found.of("total_insns")[:2] == [("a.bpf.o/p1", 1000.0), ("a.bpf.o/p2", 1000.0)]
    assert "failed: Failed to open 'x.bpf.o': -2" in found.problems


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("Processing 'a.bpf.o'...\n" + NOISE.partition("\n")[2], 1),
        ("libbpf: prog 'p1': something\n" + NOISE, 3),
        ("".join(f"{number}: (b7) r0 = 0\n" for number in range(2000)) + NOISE, 103),
        (NOISE + NOISE.partition("\n")[2], 3),
        ("2024-01-02T03:04:05.1234567Z " + NOISE.replace("\n", "\n2024-01-02T03:04:05.1234567Z "), 2),
    ],
    ids=["progress", "libbpf", "the verifier's log", "two files in a row", "a log of CI"],
)
def test_so_is_what_else_comes_first(text: str, problems: int) -> None:
    found = read(text)

    assert ("a.bpf.o/p2", 1000.0) in found.of("total_insns")
    assert len(found.problems) == problems


def test_a_comparison_of_veristat_is_two_arms_with_its_mismatch() -> None:
    document = compared(CASE / "comparison.csv")
    insns = {row["benchmark"]: row for row in document["comparisons"] if row["metric"] == "total_insns"}

    assert [arm["label"].rpartition(":")[2] for arm in document["arms"]] == ["base", "comp"]
    assert (insns["file-a/a"]["base"], insns["file-a/a"]["head"]) == (120, 150)
    assert (insns["file-a/a"]["verdict"], insns["file-b/c"]["verdict"]) == ("regression", "missing")
    assert any(
        "comp" in each and "the verifier refuses file-b/b" in each
        for each in read(CASE / "comparison.csv").problems
    )


def test_a_program_that_one_side_refuses_is_no_improvement(tmp_path: Path) -> None:
    file = tmp_path / "comparison.csv"
    file.write_text(
        "file_name,prog_name,verdict_base,verdict_comp,total_insns_base,total_insns_comp\n"
        "f,a,success,failure,1000,10\nf,b,success,success,100,100\nf,c,failure,success,10,1000\n"
    )
    verdicts = {row["benchmark"]: row["verdict"] for row in compared(file)["comparisons"]}

    assert verdicts == {"f/a": "failed", "f/b": "unchanged", "f/c": "missing"}


def test_so_is_its_table(tmp_path: object) -> None:
    found = read(COMPARED_TABLE)

    assert found.of("total_insns") == [("file-a/a", 120.0), ("file-a/a", 150.0), ("file-b/c", 320.0)]
    assert found.problems == []


def test_a_table_is_read_as_the_csv_is() -> None:
    found = read(CASE / "table.txt")

    assert found.of("total_insns") == [
        ("bpf_flow.bpf.o/flow_dissector_0", 1421.0),
        ("loop3.bpf.o/while_true", 5.0),
    ]
    assert found.of("jited_size")[0] == ("bpf_flow.bpf.o/flow_dissector_0", 3611.0)
    assert found.problems == ["failed: the verifier refuses loop3.bpf.o/while_true"]
    assert read("".join(f"> {line}\n" for line in TABLE.splitlines())).values == found.values
    peak = TABLE.replace("Jited size", "Peak states").replace("  ----------  \n", "\n")
    assert read(peak).of("peak_states")[0] == ("bpf_flow.bpf.o/flow_dissector_0", 3611.0)


def test_a_number_that_neither_side_has_is_failed_and_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(
        'file_name,prog_name,verdict,total_insns,total_states\na.o,p,success,"1,234",50\n'
    )
    file = tmp_path / "v.csv"
    rows = {(row["metric"], row["verdict"], row["reason"]) for row in compared(file, file)["comparisons"]}
    assert ("total_insns", "failed", "base: '1,234' of total_insns is not a number") in rows
    assert {metric for metric, _, _ in rows} == {"total_insns", "total_states"}
