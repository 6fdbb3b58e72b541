"""The user's BPF objects in a real guest: verified in their recorded configurations, and run on packets."""

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from isolation_here import ISOLATION, leave_out_root

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(3600)]

TESTS = Path(__file__).parents[1]
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"
SYN = bytes.fromhex(
    "02000000000202000000000108004500002800004000400626ce0a000001"
    "0a0000029c40005000000001000000005002faf0045e0000000000000000"
)
MANY = {"rodata": {".rodata": "d0070000"}, "max_entries": {"rules": 4000, "later": 64}}


def compile_bpf(source: Path, target: Path) -> None:
    clang = shutil.which("clang-19") or shutil.which("clang")
    assert clang is not None, "clang is not installed: tools/install-packages.sh kernel"
    words = ["-O2", "-g", "-target", "bpf", "-I/usr/include/x86_64-linux-gnu", "-c", str(source)]
    subprocess.run([clang, *words, "-o", str(target)], check=True)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One run of both suites. The kernel has to be in the user's cache, or is built: then half an hour."""
    leave_out_root()
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    home = tmp_path_factory.mktemp("objects")
    folder = home / "mine"
    folder.mkdir()
    for source in sorted((TESTS / "data" / "objects").glob("*.bpf.c")):
        compile_bpf(source, folder / source.with_suffix(".o").name)
    (folder / "layers.data").write_bytes(SYN)
    (folder / "layers.many.json").write_text(json.dumps(MANY))
    shutil.copy(folder / "layers.bpf.o", folder / "jumbo.o")
    (folder / "jumbo.data").write_bytes(bytes(65536))
    (folder / "jumbo.more.data").write_bytes(bytes(80000))
    shutil.copy(folder / "layers.bpf.o", folder / "alone.o")
    (folder / "kinds.syn.data").write_bytes(SYN)
    (folder / "kinds.short.data").write_bytes(SYN[:5])
    (folder / "kinds.args.ctx").write_bytes(struct.pack("<QQ", 3, 4))
    (folder / "odd.o").write_text("nothing that is an object")
    argv = [str(CLIFFWATCH), "run", "--tree", str(found[-1]), "--base", "HEAD", "--head", "HEAD"]
    argv += ["--mode", "icount", "--boots", "1", "--suite", "veristat,prog-run", "--data", str(folder)]
    argv += ["--isolation", ISOLATION, "--out", str(home / "results"), "--format", "json"]
    ended = subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True)
    assert ended.returncode == 0, ended.stdout
    return json.loads(ended.stdout)


def values(results: Any, suite: str, metric: str) -> dict[str, float]:
    return {
        " ".join(each["params"].values()): each["head"]
        for each in results["comparisons"]
        if each["suite"] == suite and each["metric"] == metric
    }


def reasons(results: Any) -> dict[str, str]:
    return {
        " ".join(each["params"].values()): each["reason"]
        for each in results["left_out"]
        if each["suite"] == "prog-run"
    }


def test_a_recorded_constant_changes_the_verifiers_work_by_more_than_ten_times(results: Any) -> None:
    work = values(results, "veristat", "total_insns")

    assert work["layers.bpf.o many walk"] > 10 * work["layers.bpf.o walk"] > 1000


def test_a_program_runs_with_its_recorded_constants_and_sizes_of_maps(results: Any) -> None:
    """It passes packets only if its map has as many rules as it has layers."""
    returned, cost = values(results, "prog-run", "retval"), values(results, "prog-run", "insns/run")

    assert (returned["layers.bpf.o walk"], returned["layers.bpf.o many walk"]) == (1, 2)
    assert cost["layers.bpf.o many walk"] > 10 * cost["layers.bpf.o walk"]


def test_equal_kernels_give_equal_instructions(results: Any) -> None:
    rows = [each for each in results["comparisons"] if each["suite"] == "prog-run"]

    assert {each["verdict"] for each in rows if each["metric"] != "overhead"} == {"unchanged"}
    assert max(abs(each["change"]) for each in rows if each["metric"] == "insns/run") < 0.001


def test_a_program_that_changes_its_packet_has_a_fresh_one_for_every_run(results: Any) -> None:
    changed, cost = values(results, "prog-run", "packet-changed"), values(results, "prog-run", "insns/run")

    assert changed["kinds.bpf.o syn head"] == 1
    assert values(results, "prog-run", "retval")["kinds.bpf.o syn head"] == 2
    assert cost["kinds.bpf.o syn head"] > values(results, "prog-run", "overhead")["kinds.bpf.o syn head"]


def test_a_packet_of_64_kib_reaches_xdp_in_fragments(results: Any) -> None:
    assert values(results, "prog-run", "retval")["jumbo.o walk"] == 1


def test_contexts_reach_programs_without_packets(results: Any) -> None:
    assert values(results, "prog-run", "retval")["kinds.bpf.o args raw"] == 7


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("jumbo.o more walk", "the packet is too long"),
        ("alone.o walk", "it needs a packet: lay one beside the object (NAME.data)"),
        ("kinds.bpf.o short head", "the packet is shorter than an Ethernet header (14 bytes)"),
        ("kinds.bpf.o syn raw", "it needs a context: lay one beside the object (NAME.ctx)"),
        ("kinds.bpf.o syn probe", "the kernel has no BPF_PROG_RUN for its type"),
        ("kinds.bpf.o syn entry", "runs functions of the kernel's tests, not the program"),
        ("kinds.bpf.o syn wild", "R1 offset is outside of the packet"),
        ("empty.bpf.o", "the object has no program"),
        ("odd.o", "'odd.o' is not a proper ELF object"),
    ],
)
def test_what_cannot_be_run_says_why(results: Any, case: str, why: str) -> None:
    assert why in reasons(results)[case]
