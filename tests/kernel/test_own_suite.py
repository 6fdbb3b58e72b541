"""What the user brings to a real kernel: suites that are built in the sandbox, guests that they ask for, and
a benchmark that only a branch has.
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from isolation_here import ISOLATION, leave_out_root

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"


def run(out: Path, *words: str) -> list[dict[str, Any]]:
    """The rows of a run on the kernel that the user's cache has, or that is built into it."""
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    leave_out_root()
    argv = [
        str(CLIFFWATCH),
        "run",
        "--tree",
        str(found[-1]),
        "--base",
        "HEAD",
        "--head",
        "HEAD",
        "--mode",
        "icount",
    ]
    argv += ["--isolation", ISOLATION, "--out", str(out), "--format", "json", *words]
    ended = subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True)
    assert ended.returncode == 0, ended.stdout
    rows: list[dict[str, Any]] = json.loads(ended.stdout)["comparisons"]
    return rows


def test_lookups_through_bpf_repeat_and_half_of_them_miss(tmp_path: Path) -> None:
    rows = run(tmp_path / "results", "--suite", str(ROOT / "examples" / "my-suite"))

    assert {(row["params"]["entries"], row["metric"], row["verdict"]) for row in rows} == {
        (entries, metric, "unchanged") for entries in ("100", "10000") for metric in ("insns/op", "misses/op")
    }
    assert {row["head"] for row in rows if row["metric"] == "misses/op"} == {0.5}
    assert json.loads((tmp_path / "results" / "run.json").read_text())["bench"] is None


def test_a_lookup_in_a_per_cpu_map_pays_for_every_possible_cpu(tmp_path: Path) -> None:
    """Three guests a kernel, each of one CPU: two minutes where the kernel is in the cache."""
    rows = run(
        tmp_path / "results", "--suite", str(ROOT / "examples" / "possible-cpus-suite"), "--boots", "1"
    )

    possible = {row["params"]["possible-cpus"]: row["head"] for row in rows if row["metric"] == "cpus"}
    assert possible == {"1": 1, "4": 4, "16": 16}
    cost = {int(row["params"]["possible-cpus"]): row["head"] for row in rows if row["metric"] == "insns/op"}
    each = (cost[4] - cost[1]) / 3
    assert each > 20
    assert (cost[16] - cost[4]) / 12 == pytest.approx(each, rel=0.05)


@pytest.mark.long
def test_a_benchmark_that_only_a_branch_has_reads_a_file(tmp_path: Path) -> None:
    """What is discovered may need what any suite needs, so that two kernels are built whole where they are
    not in the cache: ten minutes and more.
    """
    keys = tmp_path / "keys"
    keys.write_text("".join(f"10.0.{number // 256}.{number % 256}\n" for number in range(5000)))
    patch = ROOT / "tests" / "data" / "bench-of-a-branch.patch"
    words = ["--patch", str(patch), "--suite", "discovered", "--boots", "1", "--data", str(keys)]
    (row, *_) = run(tmp_path / "results", *words, "--bench-args", "--keys {data} --missed 25")

    assert (row["benchmark"], row["params"]) == ("file-lookup", {"args": "--keys '{data}' --missed 25"})
    assert row["base"] > 0
    assert row["head"] == pytest.approx(row["base"], rel=0.01)
    record = json.loads((tmp_path / "results" / "run.json").read_text())
    assert record["data"] == {
        "name": "keys",
        "bytes": keys.stat().st_size,
        "sha256": hashlib.sha256(keys.read_bytes()).hexdigest(),
    }


@pytest.mark.long
def test_a_map_that_a_branch_adds_is_measured_whatever_it_is_called(tmp_path: Path) -> None:
    """A map for strings of the branch's own, under another name and number than its patch has: a kernel is
    built whole where it is not in the cache, ten minutes and more.
    """
    text = (ROOT / "tests" / "data" / "string-map-of-a-branch.patch").read_text()
    renamed, numbers = re.subn(r"(?<=BPF_MAP_TYPE_STRTAB = )40(?=,)", "57", text)
    assert numbers == 1
    patch = tmp_path / "map.patch"
    patch.write_text(renamed.replace("STRTAB", "WORD_TABLE"))
    rows = run(
        tmp_path / "results",
        "--patch",
        str(patch),
        "--suite",
        "string-maps",
        "--profile",
        "smoke",
        "--boots",
        "1",
    )

    added = {
        (row["benchmark"], row["metric"]): row["head"]
        for row in rows
        if row["params"]["map"] == "added" and row["head"] is not None
    }
    operations = ("string-lookup", "string-update", "string-delete", "string-mixed")
    assert {added[operation, "length-prefixed-key"] for operation in operations} == {4 + 64}
    assert {added[operation, "insns/op"] > 500 for operation in operations} == {True}
    hashed = {
        row["benchmark"]: row["head"]
        for row in rows
        if row["params"]["map"] == "hash" and row["metric"] == "insns/op"
    }
    assert added["string-lookup", "insns/op"] != pytest.approx(hashed["string-lookup"], rel=0.01)
    output = next((tmp_path / "results").glob("boots/*-head/1/cases/*-string-lookup.out"))
    said = {
        line for case in output.parent.glob("*-string-lookup.out") for line in case.read_text().splitlines()
    }
    assert {"map-type: BPF_MAP_TYPE_WORD_TABLE", "key-layout: length-prefixed"} <= said
    reasons = [
        case.read_text() for case in (tmp_path / "results").glob("boots/*-base/1/cases/*-string-lookup.err")
    ]
    assert any("this kernel has no map type beyond those of linux 7.3" in reason for reason in reasons)
