"""A real kernel is built, booted, benchmarked and compared: the demo, with its promises.


Uses the user's cache, so the first run on a machine builds two kernels and later ones build nothing.
"""

import getpass
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from isolation_here import ISOLATION, leave_out_root

from cliffwatch.comparing.thresholds import COUNTED
from cliffwatch.failure import Failure
from cliffwatch_runner.build.code.functions import find_differing, function_digests
from cliffwatch_runner.command.options.cache import default_cache
from cliffwatch_runner.sandbox.sandbox import Sandbox

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"
KEPT = Path(os.environ["REAL_KERNEL_RESULTS"]) if os.environ.get("REAL_KERNEL_RESULTS") else None
"""Where each user leaves his results for the next one to compare with; .ci/run names it."""

PATCH = ROOT / "examples" / "uninline-local-storage-lookup.patch"

LARGEST = COUNTED / 10
"""A tenth of the smallest change that is reported. Seen between users: 0.0018 %; beside much other work
0.0066 %.
"""


@pytest.fixture(scope="module")
def source() -> Path:
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    return found[-1]


@pytest.fixture(scope="module")
def results(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    leave_out_root()
    out = tmp_path_factory.mktemp("demo") / "results"
    argv = [
        str(CLIFFWATCH),
        "run",
        "--tree",
        str(source),
        "--base",
        "HEAD",
        "--head",
        "HEAD",
        "--patch",
        str(PATCH),
    ]
    argv += ["--isolation", ISOLATION]
    ended = subprocess.run(
        [*argv, "--mode", "icount", "--out", str(out)], check=False, stdout=subprocess.PIPE, text=True
    )
    assert ended.returncode == 0, ended.stdout
    print(ended.stdout)  # noqa: T201 - what the developer would have read, for the log of CI
    if KEPT is not None:
        shutil.copytree(out, KEPT / getpass.getuser(), dirs_exist_ok=True)
    return out


def rows(results: Path) -> dict[str, dict[str, object]]:
    argv = [str(CLIFFWATCH), "compare", str(results), "--format", "json"]
    text = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout
    compared = json.loads(text)["comparisons"]
    return {
        f"{row['benchmark']}/{list(row['params'].values())[-1]}": row for row in compared if row["primary"]
    }


def test_a_lookup_out_of_line_costs_four_to_six_per_cent(results: Path) -> None:
    row = rows(results)["local-storage-cache-seq-get/16"]

    assert row["verdict"] == "regression"
    assert 0.04 < float(str(row["change"])) < 0.06


def functions(results: Path) -> dict[str, dict[str, object]]:
    argv = [str(CLIFFWATCH), "compare", str(results), "--format", "json"]
    document = json.loads(subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return {
        f"{each['benchmark']}/{list(each['params'].values())[-1]}": each for each in document["functions"]
    }


def test_the_function_that_went_out_of_line_is_named_first(results: Path) -> None:
    """12 instructions a lookup that base does not execute, 3 less in the function that it was taken from."""
    explained = functions(results)

    assert len(explained) == 5, "each case that changed, and no control"
    for name, each in explained.items():
        first = each["functions"][0]  # type: ignore[index]
        assert (first["name"], first["object"], first["base"]) == (
            "bpf_local_storage_lookup",
            "kernel",
            0.0,
        ), name
        measured = float(str(each["head"])) - float(str(each["base"]))
        assert float(str(each["summed"])) == pytest.approx(measured, rel=0.02), name
        assert each["explained"] is True


def test_programs_are_counted_by_their_names(results: Path) -> None:
    document = json.loads((results / "boots" / "001-base" / "functions.json").read_text())
    table = document["functions"]

    for case in document["cases"]:
        names = {table[place]["name"]: count for place, count in case["counts"]}
        assert names["loop"] > 0, case["benchmark"]
        assert names.get("run-time code without a name", 0) < 0.001 * sum(names.values()), case["benchmark"]


def test_the_code_of_programs_was_read_and_is_the_same_in_both_kernels(results: Path) -> None:
    """The patch changes a helper, and nothing of what the JIT makes."""
    (arm,) = json.loads((results / "code.json").read_text())["arms"]

    assert arm["programs"] == []
    assert len(arm["case_programs"]) == 7
    for case in arm["case_programs"]:
        assert case["names"] >= 2, case
        assert case["base"] == case["head"], case


def test_user_space_is_counted_by_its_objects(results: Path) -> None:
    """All of it where the emulator translates code for each process; newer ones count what a shell executed
    first at addresses that nobody knows.
    """
    for path in sorted(results.glob("boots/*/functions.json")):
        document = json.loads(path.read_text())
        for_each_process = int(document["counter"].removeprefix("QEMU ").partition(".")[0]) < 8
        for case in document["cases"]:
            counted = [(document["functions"][place], count) for place, count in case["counts"]]
            user = {each["name"]: count for each, count in counted if each["object"] == "user"}
            assert {"bench", "libc.so.6"} <= user.keys(), (path, case["benchmark"], user)
            unnamed = sum(user.get(name, 0) for name in ("programs", "shared libraries"))
            assert unnamed <= (0 if for_each_process else sum(user.values()) / 3), (
                path,
                case["benchmark"],
                user,
            )


def test_a_case_executes_the_same_code_where_it_executes_no_function_that_differs(results: Path) -> None:
    """The control does with gcc 12; gcc 14 pads a function of its set-up otherwise, since others moved."""
    record = json.loads((results / "run.json").read_text())
    kernels = [default_cache() / "kernels" / arm["facts"]["kernel"] for arm in record["arms"]]
    base, head = (
        function_digests(kernel, default_cache(), Sandbox(level="none", user=None)) for kernel in kernels
    )
    assert not isinstance(base, Failure)
    assert not isinstance(head, Failure)
    executed = executed_by_case(results)
    same = {name: row["same_code"] for name, row in rows(results).items()}

    assert same == {name: not executed[name] & find_differing(base, head) for name in same}
    controls = {name for name in same if name.startswith("local-storage-cache-hashmap-control/")}
    assert len(controls) == 2
    assert {same[name] for name in same.keys() - controls} == {False}
    if "gcc (Debian 12" in json.dumps(record["toolchain"]):
        assert {same[name] for name in controls} == {True}


def executed_by_case(results: Path) -> dict[str, set[str]]:
    """The kernel's functions that any boot executed in a case, or before all of them."""
    executed: defaultdict[str, set[str]] = defaultdict(set)
    before: set[str] = set()
    for path in results.glob("boots/*/functions.json"):
        document = json.loads(path.read_text())
        kernel = [each["name"] if each["object"] == "kernel" else "" for each in document["functions"]]
        before |= {kernel[place] for place in (*document["started"], *document["booted"])}
        for case in document["cases"]:
            executed[f"{case['benchmark']}/{list(case['params'].values())[-1]}"] |= {
                kernel[each] for each in case["executed"]
            }
    return {name: functions | before for name, functions in executed.items()}


def test_the_control_does_not_move(results: Path) -> None:
    for keys in (10, 1000):
        row = rows(results)[f"local-storage-cache-hashmap-control/{keys}"]

        assert row["verdict"] == "unchanged"
        assert abs(float(str(row["change"]))) < 0.002


def test_another_user_of_the_host_measures_the_same(results: Path) -> None:
    """Each has built his own kernels, in a cache of his own, and nothing of his guests is the other's."""
    others = (
        [path for path in KEPT.iterdir() if path.name != getpass.getuser() and any(path.iterdir())]
        if KEPT
        else []
    )
    if not others:
        pytest.skip(
            "no other user's results to compare with: REAL_KERNEL_RESULTS names no folder that has some"
            " (.ci/run does)"
        )
    ours = rows(results)
    for other in others:
        theirs = rows(other)
        assert set(theirs) == set(ours)
        for name, row in ours.items():
            for side in ("base", "head"):
                value = float(str(row[side]))
                assert value == pytest.approx(float(str(theirs[name][side])), rel=LARGEST), (
                    f"{name}, {side}, of {other.name}"
                )


def test_every_smoke_case_was_measured_on_both_sides(results: Path) -> None:
    compared = rows(results)

    assert len(compared) == 7
    assert {(row["n_base"], row["n_head"]) for row in compared.values()} == {(1, 1)}


def test_the_guest_says_what_it_was(results: Path) -> None:
    for path in results.glob("boots/*/environment.json"):
        guest = json.loads(path.read_text())

        assert guest["root_file_system"] == "9p"
        assert guest["host_bridge"] == "0x29c0"
        assert guest["bpf_jit_enable"] == "1"
        assert guest["bpf_jit_harden"] == "0"
        assert "nokaslr" in guest["command_line"]
        assert guest["config_sha256"]


def test_the_guest_sees_no_home_and_no_shadow(results: Path) -> None:
    """The raw facts of a guest hold what it could read; its own console names no path of the user's home."""
    console = "".join(path.read_text(errors="replace") for path in results.glob("boots/*/1/console"))

    assert "Linux version 6" in console
    assert str(Path.home() / ".ssh") not in console


def test_benchstat_reads_what_is_exported(results: Path, tmp_path: Path) -> None:
    benchstat = shutil.which("benchstat") or shutil.which("benchstat", path=str(Path(sys.executable).parent))
    if benchstat is None:
        pytest.skip("benchstat is not installed: make test-programs")
    exported = subprocess.run(
        [str(CLIFFWATCH), "export", str(results)], check=True, stdout=subprocess.PIPE
    ).stdout
    (tmp_path / "run.txt").write_bytes(exported)

    argv = [benchstat, "-col", "arm", str(tmp_path / "run.txt")]
    read = subprocess.run(argv, check=True, capture_output=True, text=True)

    assert "BPF/bench=local-storage-cache-seq-get/nr_maps=16" in read.stdout
    assert "+4." in read.stdout
    assert "geomean" in read.stdout
