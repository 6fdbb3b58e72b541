"""A tuned host is put back as it was, however the run ends."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fake_host import fake_host, put

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner.host import journal as tuning_journal
from cliffwatch_runner.host import tuning
from cliffwatch_runner.host.journal import (
    Journal,
    JournalEntry,
    read_journal,
    restore_from_journal,
    write_journal,
)
from cliffwatch_runner.host.knobs import (
    LATENCY_DEVICE,
    Knob,
    TuningPlan,
    primary_threads,
    tuning_plan,
    write_value,
)
from cliffwatch_runner.host.tuning import TuningOutcome, tune_host

SMT = "sys/devices/system/cpu/smt/control"
BOOST = "sys/devices/system/cpu/cpufreq/boost"
GOVERNOR = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
NUMA = "proc/sys/kernel/numa_balancing"


class FakeServices:
    """Services of a host, with a diary of what was asked."""

    def __init__(self, *active: str) -> None:
        self.running = set(active)
        self.diary: list[str] = []

    def active(self, name: str) -> bool:
        return name in self.running

    def start(self, name: str) -> Failure | None:
        self.diary.append(f"start {name}")
        self.running.add(name)
        return None

    def stop(self, name: str) -> Failure | None:
        self.diary.append(f"stop {name}")
        self.running.discard(name)
        return None


@pytest.fixture
def root(tmp_path: Path) -> Path:
    # A plain file cannot show the choice that the kernel shows, so this one holds the chosen word alone.
    return fake_host(tmp_path / "root", **{"sys/kernel/mm/transparent_hugepage/enabled": "madvise\n"})


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "var/host-tuning.json"


def contents(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text().strip()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root) != Path(LATENCY_DEVICE)
    }


def states(tuned: TuningOutcome) -> dict[str, str]:
    return {outcome.target: outcome.state for outcome in tuned.outcomes}


def no_report(text: str) -> None:
    raise AssertionError(f"reported without need: {text}")


def test_every_knob_is_turned_and_put_back(root: Path, journal: Path) -> None:
    before = contents(root)
    services = FakeServices("irqbalance")
    plan = tuning_plan(root, frozenset({1}))

    with tune_host(plan, report=no_report, root=root, journal=journal, services=services) as tuned:
        during = contents(root)
        assert journal.exists()
        assert not services.running

    assert {path: during[path] for path in during if during[path] != before[path]} == {
        SMT: "off",
        BOOST: "0",
        **{f"sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_governor": "performance" for cpu in range(4)},
        "sys/kernel/mm/transparent_hugepage/enabled": "never",
        NUMA: "0",
        "proc/sys/kernel/nmi_watchdog": "0",
        "proc/sys/kernel/perf_event_max_sample_rate": "1",
        "proc/irq/default_smp_affinity": "00000001",
        "proc/irq/24/smp_affinity_list": "0",
        "proc/irq/25/smp_affinity_list": "0",
        "sys/devices/virtual/workqueue/cpumask": "00000001",
    }
    assert states(tuned)["sys/kernel/mm/ksm/run"] == "already"
    assert states(tuned)["sys/devices/system/cpu/intel_pstate/no_turbo"] == "skipped"
    assert contents(root) == before
    assert services.diary == ["stop irqbalance", "start irqbalance"]
    assert not journal.exists()


def test_facts_name_each_kind_of_knob_once(root: Path, journal: Path) -> None:
    with tune_host(
        tuning_plan(root, frozenset()), report=no_report, root=root, journal=journal, services=FakeServices()
    ) as tuned:
        facts = [fact for fact in tuned.facts() if fact["name"] == "governor"]

    assert facts == [
        {
            "name": "governor",
            "state": "changed",
            "before": "schedutil",
            "after": "performance",
            "reason": "",
            "places": 4,
        }
    ]
    json.dumps(tuned.facts())


def test_old_values_are_on_disk_before_the_first_change(
    root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = write_value

    def write(path: Path, value: str) -> Failure | None:
        found = read_journal(journal)
        assert isinstance(found, Journal)
        seen.extend(entry.target for entry in found.entries if root / entry.target == path)
        return real(path, value)

    monkeypatch.setattr(tuning, "write_value", write)
    with tune_host(
        tuning_plan(root, frozenset({1})),
        report=no_report,
        root=root,
        journal=journal,
        services=FakeServices(),
    ) as tuned:
        assert seen == [
            outcome.target for outcome in tuned.outcomes if outcome.state == "changed" and outcome.before
        ]


def test_values_are_put_back_last_change_first(
    root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real = write_value

    def write(path: Path, value: str) -> Failure | None:
        order.append(str(path.relative_to(root)))
        return real(path, value)

    monkeypatch.setattr(tuning, "write_value", write)
    monkeypatch.setattr(tuning_journal, "write_value", write)
    with tune_host(
        tuning_plan(root, frozenset({1})),
        report=no_report,
        root=root,
        journal=journal,
        services=FakeServices(),
    ):
        done = len(order)

    assert order[0] == SMT
    assert order[done:] == order[:done][::-1]


def test_a_run_that_fails_leaves_the_host_as_it_was(root: Path, journal: Path) -> None:
    before = contents(root)
    with (
        pytest.raises(RuntimeError),
        tune_host(
            tuning_plan(root, frozenset()), report=print, root=root, journal=journal, services=FakeServices()
        ),
    ):
        raise RuntimeError("the run has a bug")

    assert contents(root) == before
    assert not journal.exists()


def test_a_failure_in_the_middle_of_tuning_undoes_what_was_done(
    root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(root)
    real = write_value

    def write(path: Path, value: str) -> Failure | None:
        if path == root / NUMA:
            raise KeyboardInterrupt
        return real(path, value)

    monkeypatch.setattr(tuning, "write_value", write)
    with (
        pytest.raises(KeyboardInterrupt),
        tune_host(
            tuning_plan(root, frozenset()), report=print, root=root, journal=journal, services=FakeServices()
        ),
    ):
        raise AssertionError("the block must not begin")

    assert contents(root) == before


def _killed_run(root: Path, journal: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path\nfrom cliffwatch_runner.host.knobs import Knob,"
        " TuningPlan; from cliffwatch_runner.host.tuning import tune_host\nknobs = tuple(Knob(name=p,"
        f" path=p, wanted=w, why='') for p, w in (({SMT!r}, 'off'), ({BOOST!r}, '0')))\nplan ="
        " TuningPlan(knobs=knobs, services=(), idle_latency_us=None)\nwith tune_host(plan, report=print,"
        f" root=Path({str(root)!r}), journal=Path({str(journal)!r})):\n    os.kill(os.getpid(),"
        " signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == -signal.SIGKILL


def test_what_a_killed_run_left_is_mended_from_its_journal(root: Path, journal: Path) -> None:
    before = contents(root)
    _killed_run(root, journal)
    assert contents(root)[SMT] == "off"

    assert restore_from_journal(journal, root, FakeServices()) == ()

    assert contents(root) == before
    assert not journal.exists()


def test_the_next_run_mends_first_and_does_not_take_tuned_values_for_old_ones(
    root: Path, journal: Path
) -> None:
    before = contents(root)
    _killed_run(root, journal)

    with tune_host(
        tuning_plan(root, frozenset()), report=no_report, root=root, journal=journal, services=FakeServices()
    ) as tuned:
        assert next(o.before for o in tuned.outcomes if o.target == SMT) == "on"

    assert contents(root) == before


def test_who_may_neither_restore_nor_write_the_journal_is_told_what_could_not_be_restored(
    root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _killed_run(root, journal)
    before = journal.read_bytes()
    _refusing(monkeypatch, root / SMT)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tuning_journal, "write_journal", refuse)
    problems = restore_from_journal(journal, root, FakeServices())
    assert problems == (f"{SMT} ({SMT}) could not be set back to on: Permission denied.",)
    assert journal.read_bytes() == before


def test_a_host_that_was_started_anew_needs_no_mending(root: Path, journal: Path) -> None:
    _killed_run(root, journal)
    put(root, "proc/sys/kernel/random/boot_id", "another\n")

    assert restore_from_journal(journal, root, FakeServices()) == ()

    assert contents(root)[SMT] == "off"
    assert not journal.exists()


def _refusing(monkeypatch: pytest.MonkeyPatch, refused: Path) -> None:
    denied = host_failed("Permission denied", "try as root")
    for module in (tuning, tuning_journal):
        real = module.write_value
        monkeypatch.setattr(
            module, "write_value", lambda p, v, real=real: denied if p == refused else real(p, v)
        )


def test_a_knob_that_refuses_is_told_and_ends_nothing(
    root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(root)
    reported: list[str] = []
    _refusing(monkeypatch, root / BOOST)

    with tune_host(
        tuning_plan(root, frozenset()),
        report=reported.append,
        root=root,
        journal=journal,
        services=FakeServices(),
    ) as tuned:
        assert contents(root)[SMT] == "off"

    assert [(outcome.target, outcome.reason) for outcome in tuned.refused] == [(BOOST, "Permission denied")]
    assert reported == ["Not tuned: boost: Permission denied. See `cliffwatch doctor --mode walltime`."]
    assert contents(root) == before


def test_a_value_that_does_not_stay_is_a_refusal(
    root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "write_value", lambda path, value: None)
    reported: list[str] = []

    with tune_host(
        tuning_plan(root, frozenset()),
        report=reported.append,
        root=root,
        journal=journal,
        services=FakeServices(),
    ) as tuned:
        assert ("boost", "it accepted 0 but reads 1") in {
            (outcome.name, outcome.reason) for outcome in tuned.refused
        }


def test_what_cannot_be_put_back_is_told_and_stays_in_the_journal(
    root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    with tune_host(
        tuning_plan(root, frozenset()),
        report=reported.append,
        root=root,
        journal=journal,
        services=FakeServices(),
    ):
        _refusing(monkeypatch, root / SMT)

    left = read_journal(journal)
    assert isinstance(left, Journal)
    assert left.entries == (JournalEntry(name="smt", target=SMT, old="on", form="word"),)
    assert reported == [f"smt ({SMT}) could not be set back to on: Permission denied."]

    monkeypatch.undo()
    with tune_host(
        tuning_plan(root, frozenset()), report=no_report, root=root, journal=journal, services=FakeServices()
    ):
        pass
    assert contents(root)[SMT] == "on"


def test_without_a_journal_nothing_is_changed(root: Path, tmp_path: Path) -> None:
    before = contents(root)
    (tmp_path / "file").write_text("")
    reported: list[str] = []
    journal = tmp_path / "file/journal.json"

    with tune_host(
        tuning_plan(root, frozenset()),
        report=reported.append,
        root=root,
        journal=journal,
        services=FakeServices("irqbalance"),
    ) as tuned:
        assert contents(root) == before

    assert "changed" not in states(tuned).values()
    assert any("Not a directory" in text for text in reported)


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "x", "target": "etc/shadow", "old": "root::", "form": "word"},
        {"name": "x", "target": "sys/../etc/shadow", "old": "root::", "form": "word"},
        {"name": "x", "target": "/etc/shadow", "old": "root::", "form": "word"},
        {"name": "x", "target": "--force", "old": "active", "form": "service"},
        {"name": "x", "target": SMT, "old": 5, "form": "word"},
        {"name": "x", "target": SMT, "old": "on", "form": "other"},
        {"name": "x"},
        7,
    ],
)
def test_a_journal_is_believed_for_sys_and_proc_only(root: Path, journal: Path, entry: object) -> None:
    put(root, "etc/shadow", "precious")
    services = FakeServices()
    write_journal(journal, root, ())
    raw = json.loads(journal.read_text())
    journal.write_text(json.dumps(raw | {"entries": [entry]}))

    (problem,) = restore_from_journal(journal, root, services)

    assert "it is not a tuning journal of this version" in problem
    assert (root / "etc/shadow").read_text() == "precious"
    assert services.diary == []


def test_a_journal_that_others_can_write_is_not_believed(root: Path, journal: Path) -> None:
    _killed_run(root, journal)
    journal.chmod(0o666)
    reported: list[str] = []

    with tune_host(
        tuning_plan(root, frozenset()),
        report=reported.append,
        root=root,
        journal=journal,
        services=FakeServices(),
    ) as tuned:
        assert "changed" not in states(tuned).values()

    assert "only its owner" in reported[0]
    assert journal.exists(), "what a person shall look at is kept"


def test_cpus_that_smt_took_away_are_passed_over(
    root: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = write_value

    def write(path: Path, value: str) -> Failure | None:
        if path == root / SMT and value == "off":
            (root / GOVERNOR.replace("policy0", "policy3")).unlink()
        return real(path, value)

    monkeypatch.setattr(tuning, "write_value", write)
    with tune_host(
        tuning_plan(root, frozenset()), report=no_report, root=root, journal=journal, services=FakeServices()
    ) as tuned:
        assert states(tuned)[GOVERNOR.replace("policy0", "policy3")] == "skipped"
    assert not journal.exists()


def test_the_kernel_is_asked_for_no_idle_latency_while_the_run_lasts(root: Path, journal: Path) -> None:
    device = root / LATENCY_DEVICE

    def holders() -> int:
        links = list(Path("/proc/self/fd").iterdir())
        return sum(link.is_symlink() and link.readlink() == device for link in links)

    plan = TuningPlan(knobs=(), services=(), idle_latency_us=0)
    with tune_host(plan, report=no_report, root=root, journal=journal, services=FakeServices()) as tuned:
        assert device.read_bytes() == b"\0\0\0\0"
        assert holders() == 1

    assert holders() == 0
    assert tuned.facts()[0]["after"] == "0 us"


@pytest.mark.parametrize("word", ["forceoff", "notsupported", "notimplemented"])
def test_where_there_is_no_smt_nothing_is_written(root: Path, journal: Path, word: str) -> None:
    put(root, SMT, f"{word}\n")
    knob = next(knob for knob in tuning_plan(root, frozenset()).knobs if knob.name == "smt")
    plan = TuningPlan(knobs=(knob,), services=(), idle_latency_us=None)

    with tune_host(plan, report=no_report, root=root, journal=journal, services=FakeServices()) as tuned:
        assert states(tuned) == {SMT: "already"}
        assert not journal.exists()


def test_interrupts_go_to_cores_that_stay_and_are_not_measured(root: Path) -> None:
    def interrupts(bench: set[int]) -> list[Knob]:
        return [knob for knob in tuning_plan(root, frozenset(bench)).knobs if knob.name == "irq-affinity"]

    assert primary_threads(root) == {0, 1}
    assert {knob.wanted for knob in interrupts({1}) if knob.form == "cpu-list"} == {"0"}
    assert interrupts({0, 1}) == [], "somebody must take them"
    assert interrupts(set()) == []


def test_every_knob_says_why(root: Path) -> None:
    assert all(knob.why for knob in tuning_plan(root, frozenset({1})).knobs)
