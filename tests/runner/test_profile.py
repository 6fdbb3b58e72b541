"""`--perf-profile`: cases that changed are booted once more with perf around them, and the report says what
it recorded.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import FAKEVNG, RecordedProgress, change, request, run_toy

from cliffwatch.formats.code.profile import CaseProfile, CounterRecord, ProfileRecord
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.formats.result_directory import Run
from cliffwatch.samples import CaseKey
from cliffwatch_runner.guest.profiling.host_counters import EVENTS, HostCounters
from cliffwatch_runner.results.perf_output import case_profile, read_counters, read_report

RECORDED = FAKEVNG / "perf"
_PERF_ENDS_WITHIN_SECONDS = 9
"""It is killed after ten; hundredths of a second are what it takes."""
CASE = CaseKey("local-storage", "local-storage-cache-int-get", (("nr_maps", "16"),))


def test_functions_stand_with_most_samples_first() -> None:
    """As perf 6.1 printed them in a guest of linux 6.12."""
    functions = read_report((RECORDED / "report").read_text())

    assert [(each.name, each.object, each.samples) for each in functions[:3]] == [
        ("loop", "bpf", 1191),
        ("bpf_task_storage_get_recur", "kernel", 618),
        ("__bpf_task_storage_get", "kernel", 579),
    ]
    assert sum(each.share for each in functions) == pytest.approx(1)


def test_programs_lose_their_digest_and_addresses_their_digits() -> None:
    report = (
        " 1.00%|10|bpf_prog_337fd04bf2a8034c_loop|[k] bpf_prog_337fd04bf2a8034c_loop\n"
        " 1.00%|5|bpf_prog_0000000000000000_loop|[k] bpf_prog_0000000000000000_loop\n"
        " 1.00%|3|libc.so.6|[.] 0x0000000000053e70\n"
        " 1.00%|2|libc.so.6|[.] 0x0000000000053e99\n"
        " 1.00%|1|bench|[.] main\n"
    )

    assert [(each.name, each.object, each.samples) for each in read_report(report)] == [
        ("loop", "bpf", 15),
        ("(no symbol)", "libc.so.6", 5),
        ("main", "bench", 1),
    ]


def test_counters_that_a_machine_lacks_are_known_as_such() -> None:
    counters = {each.event: each.value for each in read_counters((RECORDED / "counters").read_text())}

    assert counters["LLC-load-misses"] is None
    assert counters["context-switches"] == 327


def test_counters_of_a_machine_that_has_them() -> None:
    """In the form that perf-stat(1) describes: value, unit, event, time, share of the time, metric."""
    text = (
        "123456789,,cycles:G,5000000,100.00,2.1,GHz\n1.50,msec,cpu-clock,1500000,75.00,1.0,CPUs"
        " utilized\n<not counted>,,LLC-loads,0,0.00,,\n"
    )

    assert read_counters(text) == (
        CounterRecord(event="cycles:G", value=123456789.0),
        CounterRecord(event="cpu-clock", value=1.5, unit="msec", running=0.75),
        CounterRecord(event="LLC-loads", value=None, running=1.0),
    )


@given(
    st.text(alphabet=st.characters(), max_size=400),
    st.text(alphabet="0123456789.,|%[]k< >notsupred\n\x1b", max_size=400),
)
def test_whatever_a_guest_writes_makes_a_document_or_nothing(any_text: str, like_perf: str) -> None:
    for text in (any_text, like_perf, any_text + like_perf):
        profile = CaseProfile(
            suite="s",
            benchmark="b",
            params={},
            arm="head",
            event="",
            functions=read_report(text),
            guest=read_counters(text),
            host=(),
        )
        document = ProfileRecord(cases=(profile,))
        assert read_as(document_text(document), ProfileRecord) == document


def test_what_is_missing_has_a_reason(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "001.perf.err").write_text("perf is not in the guest: install linux-perf\n")

    profile = case_profile(tmp_path, "001", CASE, "head", "the guest ended as panic: x")

    assert profile.problems == (
        "the guest ended as panic: x",
        "no samples: perf is not in the guest: install linux-perf",
        "nothing counted on the host: perf did not say why",
    )


@pytest.mark.usefixtures("stand_in")
def test_a_run_profiles_what_changed_and_keeps_its_values(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make all but the control slower")
    progress = RecordedProgress()

    run = run_toy(request(repository, tmp_path, perf_profile=True), progress)

    assert isinstance(run, Run)
    record: Any = json.loads((tmp_path / "results/profile.json").read_text())
    profiled = {each["benchmark"] for each in record["cases"]}
    assert profiled == {"local-storage-cache-seq-get", "local-storage-cache-int-get"}
    assert {each["arm"] for each in record["cases"]} == {"base", "head"}
    assert record["cases"][0]["functions"][0]["name"] == "loop"
    assert all(len(arm.boots) == 1 for arm in run.arms.values())
    assert run.record.status == "complete"


@pytest.mark.usefixtures("stand_in")
def test_without_a_change_nothing_is_profiled(repository: Path, tmp_path: Path) -> None:
    change(repository, "README", "x\n", "docs: Say x")

    run_toy(request(repository, tmp_path, perf_profile=True))

    assert not (tmp_path / "results/profile.json").exists()


@pytest.mark.usefixtures("stand_in")
def test_a_finished_run_is_profiled_without_measuring_it_again(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make all but the control slower")
    first = run_toy(request(repository, tmp_path))
    began = min((tmp_path / "results/boots").glob("*/boot.json")).stat().st_mtime_ns

    run_toy(request(repository, tmp_path, perf_profile=True))

    assert isinstance(first, Run)
    assert (tmp_path / "results/profile.json").exists()
    assert min((tmp_path / "results/boots").glob("*/boot.json")).stat().st_mtime_ns == began


@pytest.fixture(params=["in the foreground", "in the background"])
def started(request: pytest.FixtureRequest) -> Iterator[str]:
    """What a shell starts in the background ignores the signal of a terminal, and so does what it starts in
    its turn.
    """
    handler = signal.SIG_IGN if request.param == "in the background" else signal.default_int_handler
    before = signal.signal(signal.SIGINT, handler)
    yield request.param
    signal.signal(signal.SIGINT, before)


def _perf_is_refused() -> str | None:
    """What perf says where this user may count nothing, as in a container whose seccomp forbids it."""
    tried = subprocess.run(
        ["perf", "stat", "-x,", "-e", ",".join(EVENTS), "true"], capture_output=True, text=True, check=False
    )
    return None if tried.returncode == 0 else " ".join(tried.stderr.split())


@pytest.mark.usefixtures("started")
def test_perf_on_the_host_counts_a_process_while_a_case_runs(tmp_path: Path) -> None:
    """Its page faults are counted wherever perf is allowed; the processor's events where a machine shows
    them.
    """
    if (refused := _perf_is_refused()) is not None:
        pytest.skip(f"perf may count nothing here: {refused}")
    busy = (
        "import mmap\nwhile True:\n  with mmap.mmap(-1, 1 << 20) as pages: pages.write(bytes(1 << 20))\n "
        " print(flush=True)"
    )
    faults: float | None = None
    written_by_perf = tmp_path / "001.counters"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for rounds in range(1, 100):
            counters = HostCounters(tmp_path, ["001"])
            counters.begin(process.pid)
            counters.case_begins("001")
            for _ in range(5 * rounds):
                process.stdout.readline()
            counters.end()
            if not written_by_perf.exists():  # it was ended before it had begun
                continue
            counted = read_counters(written_by_perf.read_text())
            faults = next((each.value for each in counted if each.event.startswith("page-faults")), None)
            if faults:
                break
        process.kill()

    assert faults, (tmp_path / "001.err").read_text()


@pytest.mark.usefixtures("started")
def test_perf_ends_also_where_it_has_hardly_begun(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        for _ in range(5):
            counters = HostCounters(tmp_path, ["001"])
            counters.begin(process.pid)
            counters.case_begins("001")
            began = time.monotonic()
            counters.end()
            assert time.monotonic() - began < _PERF_ENDS_WITHIN_SECONDS
        process.kill()


def test_a_guest_names_no_file_of_the_host(tmp_path: Path) -> None:
    """It writes itself which case begins: any line that it likes, as often as it likes."""
    inside = tmp_path / "host"
    inside.mkdir()
    counters = HostCounters(inside, ["001"])
    counters.begin(os.getpid())

    for name in ("../escaped", "/tmp/escaped", "002", "", "001", "001"):
        counters.case_begins(name)
    counters.end()

    assert {path.name for path in tmp_path.rglob("*")} <= {"host", "001.counters", "001.err"}
