"""Whole runs on a toy kernel: what a developer gets when things go well, and when they do not."""

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from isolation_here import ISOLATION
from toy import RecordedProgress, change, git, request, run_toy

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.thresholds import Method
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.stats.stages import Look, Stages
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.run import measure
from cliffwatch_runner.sandbox.isolation import isolation_sentence

pytestmark = pytest.mark.usefixtures("stand_in")


def statuses(run: Run, arm: str) -> dict[str, str]:
    return {
        f"{outcome.case.benchmark}/{outcome.case.params[-1][1]}": outcome.status
        for boot in run.arms[arm].boots
        for outcome in boot.outcomes
    }


def failure(ended: Run | tuple[Failure, ...]) -> Failure:
    assert isinstance(ended, tuple), ended
    return ended[0]


def good(ended: Run | Failure | tuple[Failure, ...]) -> Run:
    assert isinstance(ended, Run), ended
    return ended


def compared(run: Run) -> ComparisonSet:
    traits = load_catalogue().traits
    found = compare(run.arms["base"], run.arms["head"], traits, Method(stages=run.stages))
    assert isinstance(found, ComparisonSet)
    return found


def test_a_slower_head_is_measured_beside_its_base(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    run = good(run_toy(request(repository, tmp_path)))

    latency = {
        arm: {sample.value for sample in run.arms[arm].boots[0].samples if sample.metric == "insns/op"}
        for arm in ("base", "head")
    }
    assert latency == {"base": {200.0}, "head": {200.0, 250.0}}
    assert run.record.status == "complete"
    assert run.record.arm_by_name["head"].label.endswith("(bpf: Make it slow)")
    assert run.record.isolation == isolation_sentence("none" if ISOLATION == "none" else "bubblewrap")


def test_a_kernel_is_built_once(repository: Path, tmp_path: Path) -> None:
    first = RecordedProgress()
    run_toy(request(repository, tmp_path, out=tmp_path / "one"), first)
    second = RecordedProgress()
    run_toy(request(repository, tmp_path, out=tmp_path / "two"), second)

    assert len(list((tmp_path / "cache" / "kernels").iterdir())) == 1
    assert any(line.endswith("built") for line in first.lines)
    assert not any(line.endswith("built") for line in second.lines)


def test_a_head_that_does_not_build_leaves_base_measured_and_shows_its_first_error(
    repository: Path, tmp_path: Path
) -> None:
    change(
        repository,
        "kernel/bpf/core.c",
        "int bpf_prog_run(void)\n{\n\treturn 42\n}\n",
        "bpf: Forget a semicolon",
    )
    run = good(run_toy(request(repository, tmp_path)))

    broken = run.record.arm_by_name["head"].failure
    assert broken.whose == "kernel"
    assert broken.evidence.splitlines()[0].startswith("kernel/bpf/core.c: In function")
    assert "error: expected ';' before '}' token" in broken.evidence.replace("\u2018", "'").replace(
        "\u2019", "'"
    )
    assert len(run.arms["base"].boots) == 1
    assert run.arms["head"].boots == ()
    assert "bench is from base, because that of head does not build" in run.record.notes
    assert len(list((tmp_path / "cache" / "failures").iterdir())) == 1


def test_a_panic_at_boot_is_the_kernels_failure_with_its_console(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "panic-at-boot\n", "bpf: Break the boot")
    run = good(run_toy(request(repository, tmp_path)))

    broken = run.record.arm_by_name["head"].failure
    assert (broken.whose, broken.message) == ("kernel", "the kernel panics before it can be measured")
    assert "VFS: Unable to mount root fs" in broken.evidence
    assert set(statuses(run, "base").values()) == {"ok"}


def test_a_panic_in_a_benchmark_costs_its_cases_alone(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "panic-in local-storage-cache-int-get\n", "bpf: Break int-get")
    run = good(run_toy(request(repository, tmp_path)))

    assert statuses(run, "head") == {
        "local-storage-cache-hashmap-control/10": "ok",
        "local-storage-cache-hashmap-control/1000": "ok",
        "local-storage-cache-seq-get/1": "ok",
        "local-storage-cache-seq-get/16": "ok",
        "local-storage-cache-seq-get/17": "ok",
        "local-storage-cache-int-get/16": "panic",
        "local-storage-cache-int-get/17": "panic",
    }
    home = next(path for path in (run.path / "boots").iterdir() if path.name.endswith("head"))
    boot = json.loads((home / "boot.json").read_text())
    assert [part["status"] for part in boot["parts"]] == ["panic", "panic", "complete"]


def test_a_hang_is_ended_and_told(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "hang-in local-storage-cache-hashmap-control\n", "bpf: Spin for ever")
    run = good(run_toy(request(repository, tmp_path, hang_after=1.5)))

    found = statuses(run, "head")
    assert found["local-storage-cache-hashmap-control/10"] == "timeout"
    assert found["local-storage-cache-seq-get/16"] == "ok"


def test_a_host_too_busy_to_run_a_guest_is_at_fault_itself_and_the_boot_is_done_again(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(repository, "behaviour", "hang-in local-storage-cache-hashmap-control\n", "bpf: Spin for ever")
    with monkeypatch.context() as busy:
        busy.setattr(measure, "_HOST_SECONDS", 1.0)
        starved = failure(run_toy(request(repository, tmp_path)))

    assert starved.whose == "host"
    assert starved.message == "boot 2 (head) was ended after 0.0 hours: this host is too busy"
    assert "repeat the command" in starved.next_step
    assert [path.parent.name for path in (tmp_path / "results" / "boots").glob("*/boot.json")] == ["001-base"]

    run = good(run_toy(request(repository, tmp_path, hang_after=1.5)))
    assert run.record.status == "complete"
    assert statuses(run, "head")["local-storage-cache-hashmap-control/10"] == "timeout"
    assert (run.path / "boots" / "002-head.interrupted-1").is_dir()


def test_a_warning_of_the_kernel_spoils_the_case_in_which_it_came(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "warn-in local-storage-cache-hashmap-control\n", "bpf: Warn")
    run = good(run_toy(request(repository, tmp_path)))

    outcomes = {str(each.case): (each.status, each.reason) for each in run.arms["head"].boots[0].outcomes}
    status, reason = outcomes["local-storage-cache-hashmap-control/hashmap_nr_keys_used=10"]
    assert status == "failed"
    assert "the kernel complained while it ran: WARNING: CPU: 0 PID: 9 at kernel/bpf/core.c:42" in reason
    assert outcomes["local-storage-cache-seq-get/nr_maps=16"] == ("ok", "")


def test_a_guest_that_is_not_fit_is_refused(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "debug\n", "Turn KASAN on")
    run = good(run_toy(request(repository, tmp_path)))

    assert "CONFIG_KASAN" in run.record.arm_by_name["head"].failure.message
    assert run.record.arm_by_name["head"].failure.whose == "kernel"
    reasons = {outcome.reason for boot in run.arms["head"].boots for outcome in boot.outcomes}
    assert reasons == {
        "the guest was refused: the kernel has CONFIG_KASAN=y, which makes its timings meaningless"
    }


def test_garbage_is_a_failed_case_and_no_crash(repository: Path, tmp_path: Path) -> None:
    change(repository, "behaviour", "garbage\n", "bpf: Print noise")
    run = good(run_toy(request(repository, tmp_path)))

    assert set(statuses(run, "head").values()) == {"failed"}


def test_links_and_pipes_that_a_guest_leaves_are_removed_and_recorded(
    repository: Path, tmp_path: Path
) -> None:
    change(repository, "behaviour", "links\n", "Look at the host")
    run = good(run_toy(request(repository, tmp_path)))

    home = next(path for path in (run.path / "boots").iterdir() if path.name.endswith("head"))
    boot = json.loads((home / "boot.json").read_text())
    assert boot["parts"][0]["unexpected_files"] == ["boot.json", "dmesg"]
    assert not (home / "1" / "dmesg").exists()
    assert "root:" not in "".join(
        path.read_text(errors="replace") for path in home.rglob("*") if path.is_file()
    )


def test_a_plan_is_the_same_for_the_same_seed(repository: Path, tmp_path: Path) -> None:
    one = good(run_toy(request(repository, tmp_path, boots=3, out=tmp_path / "one")))
    two = good(run_toy(request(repository, tmp_path, boots=3, out=tmp_path / "two")))
    other = good(run_toy(request(repository, tmp_path, boots=3, seed=2, out=tmp_path / "three")))

    assert one.record.plan == two.record.plan
    assert one.record.plan != other.record.plan


def test_an_interrupted_run_goes_on_with_the_boots_that_are_done(repository: Path, tmp_path: Path) -> None:
    stop = threading.Event()

    class Impatient(RecordedProgress):
        def advance(self, fraction: float | None, detail: str = "") -> None:
            super().advance(fraction, detail)
            if detail.startswith("boot") and detail.endswith("complete"):
                stop.set()

    run = good(run_toy(request(repository, tmp_path, boots=6), Impatient(), stop))
    done = {path.parent.name: path.stat().st_mtime_ns for path in (run.path / "boots").glob("*/boot.json")}
    assert run.record.status == "incomplete"
    assert 0 < len(done) < 12

    progress = RecordedProgress()
    run = good(run_toy(request(repository, tmp_path, boots=6), progress))
    again = {path.parent.name: path.stat().st_mtime_ns for path in (run.path / "boots").glob("*/boot.json")}

    assert run.record.status == "complete"
    assert len(again) == 12
    assert {name: again[name] for name in done} == done
    assert any(f"{len(done)} of 12 boots are done" in line for line in progress.lines)


def test_a_boot_that_was_lost_from_a_complete_run_is_measured_again(repository: Path, tmp_path: Path) -> None:
    run = good(run_toy(request(repository, tmp_path, boots=2)))
    lost = next((run.path / "boots").glob("*-head"))
    shutil.rmtree(lost)

    left = good(read_run(run.path))
    assert ([f"{boot.index:03}-{boot.arm}" for boot in left.absent_boots], left.complete) == (
        [lost.name],
        False,
    )
    again = good(run_toy(request(repository, tmp_path, boots=2)))

    assert (again.path, again.complete, lost.is_dir()) == (run.path, True, True)


def test_stopping_in_a_build_leaves_no_lock_and_no_half_kernel(repository: Path, tmp_path: Path) -> None:
    makefile = (
        (repository / "Makefile")
        .read_text()
        .replace("@mkdir -p $(O)/arch", "@sleep 600\n\t@mkdir -p $(O)/arch")
    )
    change(repository, "Makefile", makefile, "Build for ever")
    stop = threading.Event()

    class Impatient(RecordedProgress):
        def advance(self, fraction: float | None, detail: str = "") -> None:
            if detail == "vmlinux" and "build head" in "".join(self.lines):
                stop.set()

    with pytest.raises(Stopped):
        run_toy(request(repository, tmp_path), Impatient(), stop)
    kernels = tmp_path / "cache" / "kernels"
    assert [path.name.startswith(".") for path in kernels.iterdir()] == [False]

    git(repository, "revert", "--no-edit", "HEAD")
    assert isinstance(run_toy(request(repository, tmp_path)), Run)


def test_a_folder_with_another_run_is_left_alone(repository: Path, tmp_path: Path) -> None:
    run_toy(request(repository, tmp_path))
    other = failure(run_toy(request(repository, tmp_path, seed=7)))

    assert other.whose == "usage"
    assert "holds another run" in other.message


def test_a_result_directory_of_a_newer_format_is_not_misread(repository: Path, tmp_path: Path) -> None:
    run = good(run_toy(request(repository, tmp_path)))
    record = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**record, "format_version": 99}))

    problem = read_run(run.path)
    assert isinstance(problem, Failure)
    assert problem.message == f"{run.path}: the results are of format 99; this Cliffwatch reads format 1"
    assert "format 99" in failure(run_toy(request(repository, tmp_path))).message


def test_what_a_branch_adds_is_measured_as_discovered(repository: Path, tmp_path: Path) -> None:
    run = good(run_toy(request(repository, tmp_path, suites=("discovered",))))

    (sample, *_) = run.arms["head"].boots[0].samples
    assert (sample.case.suite, sample.case.benchmark) == ("discovered", "qp-trie-lookup")


def test_a_suite_that_the_tree_is_too_old_for_is_said_to_be(repository: Path, tmp_path: Path) -> None:
    nothing = failure(run_toy(request(repository, tmp_path, suites=("lpm-trie",))))

    assert nothing.message == "no case of the chosen suites can run on this tree: came with linux about 6.18"


REHEARSED = {"mode": "walltime", "accel": "tcg", "boots": 2}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"pin": (0,)}, "--pin: instruction counts do not depend on the CPU that counts them"),
        ({**REHEARSED, "pin": (0, 0)}, "--pin: two CPUs of the guest would share one of the host"),
        ({**REHEARSED, "pin": (0,), "cpus": 2}, "--pin names 1 CPU, and the guest has 2"),
        ({**REHEARSED, "pin": (0, 1), "cpus": 1}, "--pin names 2 CPUs, and the guest has 1"),
        ({**REHEARSED, "cpus": 255}, "the guest has 255 CPUs, and this process "),
        ({"suites": ("sockmap",)}, "no case of the chosen suites can run on this tree: needs 3 CPUs"),
        (
            {"suites": ("sockmap",), "cases": ("sockmap",)},
            "no case of the chosen suites can run on this tree: needs 3 CPUs",
        ),
        ({"memory_mib": 1 << 30}, "the guest has 1,073,741,824 MiB of memory, and this host "),
        (
            {**REHEARSED, "pin": (0, 4095)},
            "the guest cannot be pinned to CPU 4095: this process has no such CPU",
        ),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_built(
    repository: Path, tmp_path: Path, asked: dict[str, Any], said: str
) -> None:
    progress = RecordedProgress()

    refused = failure(run_toy(replace(request(repository, tmp_path), **asked), progress))

    assert refused.message.startswith(said)
    assert not any(line.startswith("build") for line in progress.lines)


def test_a_prebuilt_kernel_that_is_none_is_refused_before_anything_is_built(
    repository: Path, tmp_path: Path
) -> None:
    kernel, progress = tmp_path / "vmlinuz", RecordedProgress()
    kernel.write_bytes(b"no kernel")

    refused = failure(run_toy(request(repository, tmp_path, head=None, kernel=kernel), progress))

    assert refused.whose == "usage"
    assert not any(line.startswith("build") for line in progress.lines)


def test_a_benchmark_that_the_tree_should_have_is_told_as_failed(repository: Path, tmp_path: Path) -> None:
    run = good(run_toy(request(repository, tmp_path, suites=("local-storage", "strncmp"))))

    reasons = {row.benchmark: (row.status, row.reason) for row in run.record.left_out}
    assert reasons["strncmp-helper"][0] == "failed"
    assert "came with linux 5.17" in reasons["strncmp-helper"][1]


def test_what_the_screen_leaves_open_is_confirmed_on_fresh_boots(repository: Path, tmp_path: Path) -> None:
    """A benchmark that nobody knows to be exact is noisy: five boots make it a candidate, six more of it
    decide.
    """
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    stages = Stages(screen=5, screen_alpha=0.1, looks=(Look(boots=6, alpha=0.01),))
    run = good(run_toy(request(repository, tmp_path, suites=("discovered", "local-storage"), boots=stages)))

    confirming = [boot for boot in run.arms["head"].boots if boot.stage == "confirm"]
    assert len(run.arms["head"].boots) == 11
    assert len(confirming) == 6
    assert {sample.case.benchmark for boot in confirming for sample in boot.samples} == {"qp-trie-lookup"}
    row = next(row for row in compared(run).primary_rows() if row.case.suite == "discovered")
    assert (row.verdict, row.n_base, row.n_head) == ("regression", 6, 6)


@pytest.mark.parametrize("lost", ["base", "head"])
def test_a_run_killed_in_its_last_boot_gets_that_boot_when_it_is_tried_again(
    repository: Path, tmp_path: Path, lost: str
) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    stages = Stages(screen=5, screen_alpha=0.1, looks=(Look(boots=6, alpha=0.01),))
    wanted = request(repository, tmp_path, suites=("discovered", "local-storage"), boots=stages)
    first = good(run_toy(wanted))
    done = [boot for boot in first.record.plan.boots if boot.arm == lost][-1]
    (first.path / "boots" / f"{done.index:03}-{lost}" / "boot.json").unlink()
    document = first.path / "run.json"
    document.write_text(document.read_text().replace('"status": "complete"', '"status": "incomplete"'))

    again = good(run_toy(wanted))
    assert again.record.plan == first.record.plan
    assert [len(again.arms[name].boots) for name in ("base", "head")] == [11, 11]


def test_a_run_in_stages_is_complete_where_the_screen_decides_all(repository: Path, tmp_path: Path) -> None:
    stages = Stages(screen=5, screen_alpha=0.1, looks=(Look(boots=6, alpha=0.01),))
    run = good(run_toy(request(repository, tmp_path, suites=("discovered",), boots=stages)))

    assert len(run.arms["head"].boots) == 5
    assert {row.verdict for row in compared(run).primary_rows()} == {"unchanged"}


class Impatient(RecordedProgress):
    """Stops a run after its first boot."""

    def __init__(self, stop: threading.Event) -> None:
        super().__init__()
        self.stop = stop

    def advance(self, fraction: float | None, detail: str = "") -> None:
        if detail.startswith("boot") and detail.endswith("complete"):
            self.stop.set()


def test_the_threshold_that_was_asked_for_decides_what_is_confirmed(repository: Path, tmp_path: Path) -> None:
    """A head that is six per cent slower is worth fresh boots by default; where only 60 % are reported, the
    screen decides.
    """
    change(repository, "behaviour", "slower-by-six-per-cent\n", "bpf: Make it slower")
    stages = Stages(screen=10, screen_alpha=0.1, looks=(Look(boots=6, alpha=0.01),))
    by_default, by_60 = (
        good(
            run_toy(
                request(repository, tmp_path, suites=("discovered",), boots=stages, notable=notable, out=out)
            )
        )
        for notable, out in ((None, tmp_path / "default"), (0.6, tmp_path / "by-60"))
    )

    assert by_default.record.plan.notable is None
    assert by_60.record.plan.notable == 0.6
    assert len(by_default.arms["head"].boots) == 16
    assert len(by_60.arms["head"].boots) == 10


@pytest.mark.parametrize(("again", "then"), [(None, 0.3), (0.4, 0.4)])
def test_a_run_goes_on_under_its_threshold_unless_another_is_given(
    repository: Path, tmp_path: Path, again: float | None, then: float
) -> None:
    stop = threading.Event()
    first = good(run_toy(request(repository, tmp_path, boots=6, notable=0.3), Impatient(stop), stop))
    assert first.record.status == "incomplete"
    resumed = good(run_toy(request(repository, tmp_path, boots=6, notable=again)))

    assert resumed.record.status == "complete"
    assert resumed.record.identity == first.record.identity
    assert resumed.record.plan.notable == then
