"""The suite string-maps: what its program prints is what the suite declares, and it refuses what it cannot
measure.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from toy import TESTS

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch_runner.results.case_output import parse_case, program_failure, unsupported_reason

SUITE = next(suite for suite in load_catalogue().suites if suite.name == "string-maps")
OUTPUTS = TESTS / "data" / "suites" / "outputs"
MEMORY = {"memlock", "memlock-B/key", "memcg", "memcg-B/key"}
LOOKUP = "--op lookup --order unsorted --keys 100"


def case_of(benchmark: str, map_: str) -> PlannedCase:
    return next(
        case
        for case in SUITE.cases("smoke")
        if case.key.benchmark == benchmark and dict(case.key.params)["map"] == map_
    )


@pytest.mark.parametrize(
    ("benchmark", "map_", "layout"),
    [
        ("string-lookup", "hash", "fixed"),
        ("string-lookup", "lpm-trie", "bit-prefixed"),
        ("string-lookup", "added", "length-prefixed"),
        ("string-update", "hash", "fixed"),
        ("string-delete", "hash", "fixed"),
        ("string-mixed", "hash", "fixed"),
    ],
)
def test_what_the_program_printed_on_6_12_is_what_the_suite_declares(
    benchmark: str, map_: str, layout: str
) -> None:
    case, text = case_of(benchmark, map_), (OUTPUTS / f"{benchmark}-{map_}-6.12-tcg.out").read_text()
    parsed = parse_case(case, text, "")

    assert parsed.problems == ()
    assert program_failure(0, case, parsed, (text, "")) is None
    assert {sample.metric for sample in parsed.samples} == {"ns/op", "total", f"{layout}-key", *MEMORY}
    assert {(sample.metric, sample.unit) for sample in parsed.samples} <= {
        (metric, spec.unit) for metric, spec in SUITE.metrics.items()
    }


def test_a_kernel_that_adds_no_map_does_not_support_its_case() -> None:
    said = ("", "strings: this kernel has no map type beyond those of linux 7.3\n")

    assert unsupported_reason(4, case_of("string-lookup", "added"), said) == said[1].strip()


def test_one_thread_is_what_instructions_are_counted_of() -> None:
    for case in SUITE.cases("full"):
        threads = int(dict(case.key.params)["threads"])
        assert case.guest.concurrent or threads == 1
        assert not case.guest.concurrent or case.guest.cpus == 8


@pytest.fixture(scope="module")
def strings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as the suite says, with every warning an error."""
    assert SUITE.program is not None
    assert SUITE.source_file is not None
    folder = tmp_path_factory.mktemp("strings") / "suite"
    shutil.copytree(SUITE.source_file.parent, folder)
    subprocess.run(
        SUITE.program.build.replace("-Wall", "-Wall -Wextra -Werror"), cwd=folder, shell=True, check=True
    )
    return folder / SUITE.program.run


def run(strings: Path, line: str, data: Path | None = None) -> subprocess.CompletedProcess[str]:
    given = {"CLIFFWATCH_DATA": str(data)} if data is not None else {}
    return subprocess.run(
        [strings, *line.split()], capture_output=True, text=True, check=False, env={**os.environ, **given}
    )


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--op walk --map hash --set domains --order unsorted --keys 100",
        "--op lookup --map ring --set domains --order unsorted --keys 100",
        "--op lookup --map hash --set words --order unsorted --keys 100",
        "--op lookup --map hash --set domains --order random --keys 100",
        "--op lookup --map hash --set domains --order unsorted --keys 0",
        "--op lookup --map hash --set domains --order unsorted --keys 10k",
        "--op lookup --map hash --set domains --order unsorted --keys 100 --threads 65",
    ],
)
def test_arguments_that_make_no_sense_are_refused(strings: Path, line: str) -> None:
    ended = run(strings, line)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("strings: --")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file of --data is no text with a name a line: it is empty"),
        (b"one.example\n\0\n", "it has a zero byte"),
        (
            b"one.example\ntwo words\n",
            "line 2 of the file of --data is no name: it has a blank or a control character",
        ),
        (b"\x7fELF\x02\n", "line 1 of the file of --data is no name"),
    ],
)
def test_a_file_that_has_no_names_is_refused(
    strings: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "names").write_bytes(content)
    ended = run(strings, f"{LOOKUP} --map hash --set domains", tmp_path / "names")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_too_few_names_are_no_case(strings: Path, tmp_path: Path) -> None:
    """Names of a list with ranks, with Windows' ends of lines, one of them twice, one too long."""
    (tmp_path / "names").write_text(
        f"1,a.example\r\n2,b.example\r\n3,a.example\r\n4,{'c' * 64}\r\n", newline=""
    )
    ended = run(strings, f"{LOOKUP} --map hash --set domains", tmp_path / "names")

    assert (ended.returncode, ended.stdout) == (4, "")
    assert (
        "the file of --data has 2 different strings of at most 63 bytes, fewer than the 100 of --keys"
        in ended.stderr
    )


def test_a_file_that_is_not_there_is_a_failure(strings: Path, tmp_path: Path) -> None:
    ended = run(strings, f"{LOOKUP} --map hash --set domains", tmp_path / "nowhere")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "nowhere cannot be read: No such file or directory" in ended.stderr


def test_too_few_cpus_are_no_case(strings: Path) -> None:
    allowed = len(os.sched_getaffinity(0))
    if allowed >= 64:
        pytest.skip("this machine has a CPU for as many threads as there may be")
    ended = run(strings, f"{LOOKUP} --map hash --set domains --threads {allowed + 1}")

    assert (ended.returncode, ended.stdout) == (4, "")
    assert f"{allowed + 1} threads need as many CPUs, and this guest has {allowed}" in ended.stderr


def run_where(strings: Path, content: bytes, place: str, line: str) -> subprocess.CompletedProcess[str]:
    """Runs the program where a file of the kernel's has another content."""
    shown = strings.parent / "shown"
    shown.write_bytes(content)
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", script, "sh", shown, place, strings, *line.split()]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if "unshare" in ended.stderr or "mount" in ended.stderr or "Operation not permitted" in ended.stderr:
        pytest.skip("mounts or maps are not to be made here")
    return ended


def test_too_little_memory_is_no_case(strings: Path) -> None:
    free = b"MemTotal: 65536 kB\nMemAvailable: 40000 kB\n"
    line = "--op lookup --map hash --set domains --order unsorted --keys 100000"
    ended = run_where(strings, free, "/proc/meminfo", line)

    assert (ended.returncode, ended.stdout) == (4, "")
    assert "100000 strings take " in ended.stderr
    assert "of the 39 that are free: use --memory" in ended.stderr


def types_with(old: str, new: str) -> bytes:
    """The types of the kernel that runs, in which a type of map has another name."""
    types = Path("/sys/kernel/btf/vmlinux")
    if not types.exists():
        pytest.skip("this kernel shows no types")
    content, name = types.read_bytes(), f"\0BPF_MAP_TYPE_{old}\0".encode()
    assert len(old) == len(new)
    assert content.count(name) == 1
    return content.replace(name, f"\0BPF_MAP_TYPE_{new}\0".encode())


def test_a_type_that_nobody_knows_is_found_by_the_kernels_types(strings: Path) -> None:
    """Where hash maps have another name, they are a map that the kernel adds."""
    line = f"{LOOKUP} --map added --set files --operations 100"
    ended = run_where(strings, types_with("HASH", "HUSH"), "/sys/kernel/btf/vmlinux", line)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[:2] == ["map-type: BPF_MAP_TYPE_HUSH", "key-layout: fixed"]
    assert ended.stdout.splitlines()[2].endswith(" 104 fixed-key-B")


def test_a_type_that_takes_no_strings_is_no_case_and_each_layout_is_told(strings: Path) -> None:
    line = f"{LOOKUP} --map added --set files"
    ended = run_where(strings, types_with("ARRAY", "ARROW"), "/sys/kernel/btf/vmlinux", line)

    assert (ended.returncode, ended.stdout) == (4, "")
    assert (
        "of the map types that this kernel adds none takes strings. BPF_MAP_TYPE_ARROW: fixed: "
        in ended.stderr
    )
    for layout in ("length-prefixed", "short-length-prefixed", "dynptr"):
        assert f"; {layout}: no map is made (" in ended.stderr


def test_a_second_type_is_another_case(strings: Path) -> None:
    line = f"{LOOKUP} --map added-2 --set files"
    ended = run_where(strings, types_with("HASH", "HUSH"), "/sys/kernel/btf/vmlinux", line)

    assert (ended.returncode, ended.stdout) == (4, "")
    assert "this kernel adds fewer than 2 map types that take strings" in ended.stderr


@pytest.mark.parametrize("map_", ["hash", "hash-on-demand", "lpm-trie"])
@pytest.mark.parametrize("operation", ["lookup", "update", "delete", "mixed"])
def test_every_string_is_found_and_no_other(strings: Path, operation: str, map_: str) -> None:
    """The program itself ends with 1 where one is not, or has the value of another."""
    ended = run(
        strings,
        f"--op {operation} --map {map_} --set files --order sorted --keys 400 --threads 2 --operations 2000",
    )
    if "Operation not permitted" in ended.stderr or "as many CPUs" in ended.stderr:
        pytest.skip("maps are not to be made here")

    assert ended.returncode == 0, ended.stderr
    result = ended.stdout.splitlines()[-1].split()
    assert result[:2] == ["BenchmarkStrings", "2500" if operation == "mixed" else "2000"]
    assert result[3::2] == [
        "ns/op",
        "total-ms",
        "speed-up-x",
        f"{'bit-prefixed' if map_ == 'lpm-trie' else 'fixed'}-key-B",
    ]
