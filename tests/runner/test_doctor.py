"""The doctor says of every item its finding, why it matters and how to fix it."""

import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_host import SKYLAKE, fake_host, put
from golden import assert_golden
from rich.console import Console

from cliffwatch.failure import host_failed
from cliffwatch.samples import Mode
from cliffwatch_runner.command import doctor as command
from cliffwatch_runner.command.worker import doctor_findings
from cliffwatch_runner.doctor import facts as facts_module
from cliffwatch_runner.doctor.examination import checks, for_mode, to_fix, verdict
from cliffwatch_runner.doctor.facts import HostFacts, gather_facts, missing_headers
from cliffwatch_runner.host.facts import host_record
from cliffwatch_runner.host.journal import Journal, JournalEntry
from cliffwatch_runner.host.kvm_probe import KvmProbe
from cliffwatch_runner.host.lock import Holder, LockState
from cliffwatch_runner.host.programs import Llvm, installed_llvms, parse_version, version_in
from cliffwatch_runner.sandbox.namespaces import NOT_INSTALLED, explain_refusal

MANUAL = Path(__file__).parents[2] / "docs/host.md"

GOOD_PROGRAMS = {
    "qemu": "10.0.2",
    "git": "2.47.2",
    "make": "4.4.1",
    "gcc": "14.2.0",
    "pahole": "1.30",
    "bc": "1.07.1",
    "flex": "2.6.4",
    "bison": "3.8.2",
    "ccache": "4.11.2",
    "bwrap": "0.11.0",
    "virtme-ng": "1.42",
}


@pytest.fixture
def good(tmp_path: Path) -> HostFacts:
    """A tuned Rome host, seen by root."""
    root = fake_host(tmp_path / "good", **{"sys/devices/system/cpu/isolated": "1\n"})
    return HostFacts(
        record=host_record(root),
        programs=GOOD_PROGRAMS,
        python="3.13.5",
        llvms=(Llvm(suffix="-19", clang="19.1.7", llc="19.1.7", llvm_strip="19.1.7"),),
        virtme_run="/opt/cliffwatch/.venv/bin/virtme-run",
        udev="/usr/lib/systemd/systemd-udevd",
        missing_headers=(),
        refusal=None,
        cache="/var/cache/cliffwatch",
        cache_free_bytes=200 << 30,
        cache_runs_programs=True,
        kvm=KvmProbe(usable=True, reason="a probe guest ran in 0.1 s"),
        user="bench",
        may_tune=True,
        may_hold_latency=True,
        irqbalance=True,
        nmi_watchdog="1",
        leftover=None,
        lock=LockState(locked=False, holders=()),
    )


@pytest.fixture
def bad(tmp_path: Path) -> HostFacts:
    """A host where every item is wrong that can be."""
    root = fake_host(tmp_path / "bad", SKYLAKE)
    put(root, "proc/cpuinfo", (root / "proc/cpuinfo").read_text().replace("vme svm", "vme hypervisor"))
    put(root, "proc/cpuinfo", (root / "proc/cpuinfo").read_text().replace("0x830107c", "0x2006e05", 1))
    put(root, "proc/meminfo", "MemTotal: 2000000 kB\nMemAvailable: 1000000 kB\nSwapTotal: 8388608 kB\n")
    put(root, "proc/loadavg", "3.50 2.00 1.00 4/300 4242\n")
    put(root, "sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
    put(root, "sys/kernel/mm/ksm/run", "1\n")
    killed = Journal(
        boot_id="5d2b",
        pid=1,
        written="2026-11-20T10:00:00+00:00",
        entries=(
            JournalEntry(name="smt", target="sys/devices/system/cpu/smt/control", old="on", form="word"),
        ),
    )
    holder = Holder(
        pid=4242, since=datetime(2026, 11, 20, 10, 0, tzinfo=UTC), what="walltime run of 1a2b3c..4d5e6f"
    )
    return HostFacts(
        record=host_record(root),
        programs=dict.fromkeys(GOOD_PROGRAMS),
        python="3.9.2",
        llvms=(Llvm(suffix="-14", clang="14.0.6", llc=None, llvm_strip="14.0.6"),),
        virtme_run=None,
        udev=None,
        missing_headers=("libelf", "libssl"),
        refusal=NOT_INSTALLED,
        cache="/var/cache/cliffwatch",
        cache_free_bytes=3 << 30,
        cache_runs_programs=True,
        kvm=KvmProbe(usable=False, reason="qemu-system-x86_64 is not installed"),
        user="bench",
        may_tune=False,
        may_hold_latency=False,
        irqbalance=True,
        nmi_watchdog="1",
        leftover=killed,
        lock=LockState(locked=True, holders=(holder,)),
        counting=host_failed("there is no C compiler (gcc) on this host", "install gcc"),
    )


def by_name(facts: HostFacts) -> dict[str, str]:
    return {check.name: check.status for check in checks(facts)}


def shown(facts: HostFacts, mode: Mode) -> str:
    stream = io.StringIO()
    command.show(Console(file=stream, width=80, highlight=False), tuple(checks(facts)), mode)
    return stream.getvalue()


def test_a_compiler_that_the_sandbox_does_not_start_fails_the_isolation(good: HostFacts) -> None:
    unseen = host_failed("clang-22 (/opt/wrap/clang-22) does not start", "install clang-22 in /usr")
    found = {check.name: check for check in checks(replace(good, unseen=unseen))}["isolation"]

    assert found.status == "fail"
    assert "/opt/wrap/clang-22" in found.finding
    assert found.fixes == ("install clang-22 in /usr",)


def test_a_good_host_reads(good: HostFacts) -> None:
    assert_golden("doctor-good-walltime.txt", shown(good, "walltime"))


def test_a_bad_host_reads(bad: HostFacts) -> None:
    assert_golden("doctor-bad-walltime.txt", shown(bad, "walltime"))


def test_items_that_nobody_asked_for_are_shown_without_judgement(good: HostFacts) -> None:
    facts = replace(good, kvm=KvmProbe(usable=False, reason="/dev/kvm is not there"), may_tune=False)

    assert_golden("doctor-icount.txt", shown(facts, "icount"))


def test_every_item_can_be_wrong_and_then_says_how_to_fix_it(good: HostFacts, bad: HostFacts) -> None:
    wrong = [check for check in checks(bad) if check.status in {"warn", "fail"}]

    assert {check.name for check in checks(bad)} - {check.name for check in wrong} == {"processor"}
    assert all(check.fixes and check.why and check.finding for check in wrong)
    assert {check.status for check in checks(good)} == {"ok"}


def test_every_item_is_explained_in_the_manual(good: HostFacts) -> None:
    headings = set(re.findall(r"^#### `([a-z-]+)`$", MANUAL.read_text(), re.MULTILINE))

    assert headings == {check.name for check in checks(good)}


def test_names_of_items_are_unique(good: HostFacts) -> None:
    names = [check.name for check in checks(good)]

    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("version", "status"),
    [(None, "fail"), ("1.21", "fail"), ("1.22", "warn"), ("1.26", "warn"), ("1.27", "ok")],
)
def test_pahole_must_be_new_enough_for_the_tree(good: HostFacts, version: str | None, status: str) -> None:
    assert by_name(replace(good, programs=good.programs | {"pahole": version}))["pahole"] == status


@pytest.mark.parametrize(("gibibytes", "status"), [(11.9, "fail"), (12, "ok")])
def test_the_cache_needs_room_for_two_kernels(good: HostFacts, gibibytes: float, status: str) -> None:
    assert by_name(replace(good, cache_free_bytes=int(gibibytes * 2**30)))["disk"] == status


def test_the_cache_must_run_programs(good: HostFacts) -> None:
    noexec = next(each for each in checks(replace(good, cache_runs_programs=False)) if each.name == "disk")

    assert (noexec.status, "noexec" in noexec.finding) == ("fail", True)


def test_a_tool_that_prints_no_version_is_not_told_as_missing(good: HostFacts) -> None:
    silent = Llvm(suffix="-19", clang="", llc=None, llvm_strip="19.1.7")
    check = next(each for each in checks(replace(good, llvms=(silent,))) if each.name == "llvm")

    assert check.finding == "clang-19 prints no version, llc missing, llvm-strip 19.1.7"


def test_clang_needs_tools_of_its_own_version(good: HostFacts) -> None:
    mixed = Llvm(suffix="", clang="19.1.7", llc="14.0.6", llvm_strip="19.1.7")
    whole = Llvm(suffix="-14", clang="14.0.6", llc="14.0.6", llvm_strip="14.0.6")

    assert by_name(replace(good, llvms=(mixed,)))["llvm"] == "fail"
    assert by_name(replace(good, llvms=(mixed, whole)))["llvm"] == "ok"


@pytest.mark.parametrize(
    "name", ["smt", "boost", "governor", "irqbalance", "numa-balancing", "thp", "watchdogs"]
)
def test_what_a_run_tunes_itself_needs_mending_only_by_those_who_may_not(good: HostFacts, name: str) -> None:
    assert by_name(good)[name] == "ok"
    assert by_name(replace(good, may_tune=False))[name] in {"warn", "fail"}


@pytest.mark.parametrize(
    ("reason", "step"),
    [
        ("qemu-system-x86_64 is not installed", "apt install qemu-system-x86"),
        (
            "QEMU could not run a probe guest: Could not access KVM kernel module: Permission denied",
            "usermod -aG kvm",
        ),
        (
            "QEMU could not run a probe guest: Could not access KVM kernel module: No such file or directory",
            "modprobe",
        ),
        ("the probe guest started but did not finish: its code is emulated, not run", "--mode icount"),
    ],
)
def test_kvm_is_mended_by_what_is_wrong_with_it(good: HostFacts, reason: str, step: str) -> None:
    facts = replace(good, kvm=KvmProbe(usable=False, reason=reason))
    (kvm,) = (check for check in checks(facts) if check.name == "kvm")

    assert step in kvm.fixes[0]


def test_the_verdict_counts_what_is_in_the_way_of_each_mode(good: HostFacts) -> None:
    no_kvm = tuple(checks(replace(good, kvm=KvmProbe(usable=False, reason="none"))))
    no_git = tuple(checks(replace(good, programs=good.programs | {"git": None})))

    assert verdict(no_kvm, "icount") == "This host is fit for icount runs; for walltime: 1 thing to fix."
    assert (
        verdict(no_kvm, "walltime")
        == "This host is not fit for walltime runs: 1 thing to fix; for icount: nothing to fix."
    )
    assert to_fix(no_git, "icount") == to_fix(no_git, "walltime") == 1
    assert {check.status for check in for_mode(no_kvm, "icount") if check.group == "walltime"} == {"skip"}


def test_a_rehearsal_needs_no_kvm_and_shows_what_it_lacks_without_failing(
    good: HostFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = replace(good, kvm=KvmProbe(usable=False, reason="none"), may_hold_latency=False)
    monkeypatch.setattr(command, "gather_facts", lambda _: lacking)
    words = ["--mode", "walltime", "--accel", "tcg", "--format", "json"]
    result = CliRunner().invoke(command.doctor, words)
    document = json.loads(result.stdout)
    status = {check["name"]: check["status"] for check in document["checks"]}

    assert result.exit_code == 0
    assert document["verdict"].startswith("This host is fit for rehearsals of walltime;")
    assert (status["kvm"], status["c-states"]) == ("skip", "warn")


def test_a_rehearsal_of_icount_is_refused_before_the_host_is_examined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "gather_facts", lambda _: pytest.fail("the host was examined"))
    result = CliRunner().invoke(command.doctor, ["--accel", "tcg"])

    assert result.exit_code == 2
    assert "rehearse with --mode walltime --accel tcg" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "kvm", "exit_code"),
    [([], True, 0), ([], False, 0), (["--mode", "walltime"], False, 4), (["--mode", "icount"], True, 0)],
)
def test_the_exit_code_is_about_the_mode_that_was_asked_for(
    good: HostFacts, monkeypatch: pytest.MonkeyPatch, arguments: list[str], kvm: bool, exit_code: int
) -> None:
    monkeypatch.setattr(
        command, "gather_facts", lambda _: replace(good, kvm=KvmProbe(usable=kvm, reason="seen"))
    )

    assert CliRunner().invoke(command.doctor, arguments).exit_code == exit_code


def test_programs_read_the_same_as_json(good: HostFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "gather_facts", lambda _: replace(good, udev=None))
    result = CliRunner().invoke(command.doctor, ["--format", "json", "--mode", "icount"])
    document = json.loads(result.stdout)

    assert result.exit_code == 4
    assert document["fit"] is False
    assert document["to_fix"] == {"icount": 1, "walltime": 1}
    assert [check["name"] for check in document["checks"] if check["status"] == "fail"] == ["udev"]
    assert {check["status"] for check in document["checks"] if check["group"] == "walltime"} == {"skip"}


def test_restoring_says_what_could_not_be_put_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "lock_path", lambda: tmp_path / "lock")
    monkeypatch.setattr(command, "restore_from_journal", lambda journal: ())
    assert CliRunner().invoke(command.doctor, ["--restore"]).output == "The host's settings are restored.\n"

    monkeypatch.setattr(command, "restore_from_journal", lambda journal: ("smt could not be set back.",))
    result = CliRunner().invoke(command.doctor, ["--restore"])
    assert result.exit_code == 4
    assert result.output.splitlines()[0] == "smt could not be set back."


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)", "7.2.22"),
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
        ("v1.24", "1.24"),
        ("llvm-strip, compatible with GNU strip\nDebian LLVM version 19.1.7", "19.1.7"),
        ("Debian clang version 19.1.7 (3~deb12u1)", "19.1.7"),
        ("GNU Make 4.3", "4.3"),
        ("no number here", ""),
    ],
)
def test_versions_are_read_from_what_programs_say(output: str, version: str) -> None:
    assert version_in(output) == version


def test_versions_compare_as_numbers() -> None:
    assert parse_version("1.9") < parse_version("1.30")
    assert parse_version(None) < parse_version("0.1")


def test_tools_of_one_suffix_are_found_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("clang-19", "llc-19", "clang"):
        put(tmp_path, name, "#!/bin/sh\necho Debian LLVM version 19.1.7\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert installed_llvms() == (
        Llvm(suffix="-19", clang="19.1.7", llc="19.1.7", llvm_strip=None),
        Llvm(suffix="", clang="19.1.7", llc=None, llvm_strip=None),
    )


def test_headers_are_looked_for_one_by_one(tmp_path: Path) -> None:
    put(tmp_path, "usr/include/libelf.h", "")

    assert missing_headers(tmp_path) == ("libssl", "zlib")


def test_gathering_looks_at_the_root_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_module, "kvm_usable", lambda: KvmProbe(usable=False, reason="not asked"))
    monkeypatch.setattr(facts_module, "program_versions", dict)
    monkeypatch.setattr(facts_module, "installed_llvms", lambda: ())

    facts = gather_facts(
        tmp_path / "not/yet/there", root=fake_host(tmp_path / "root"), journal=tmp_path / "journal.json"
    )

    assert facts.word("cpu", "vendor") == "AuthenticAMD"
    assert facts.nmi_watchdog == "1"
    assert facts.missing_headers == ("libelf", "libssl", "zlib")
    assert facts.cache_free_bytes is not None
    assert facts.leftover is None


def test_a_worker_tells_its_service_what_is_not_well(bad: HostFacts) -> None:
    document = doctor_findings(tuple(checks(bad)), "walltime")
    assert "not fit for walltime runs" in document["verdict"]
    assert {check["status"] for check in document["checks"]} <= {"warn", "fail"}
    assert all(check["fixes"] for check in document["checks"])


@pytest.mark.parametrize(
    ("switches", "fix"),
    [
        ({"kernel/unprivileged_userns_clone": "0"}, "kernel.unprivileged_userns_clone=1"),
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, "/etc/apparmor.d/bwrap"),
        ({"user/max_user_namespaces": "0"}, "user.max_user_namespaces=10000"),
        ({"user/max_user_namespaces": "96365"}, "--isolation none"),
    ],
)
def test_what_forbids_namespaces_is_named_with_what_allows_them(
    good: HostFacts, switches: dict[str, str], fix: str
) -> None:
    facts = replace(
        good, refusal=explain_refusal("bwrap: No permissions to create a new namespace", switches)
    )

    (check,) = [each for each in checks(facts) if each.name == "isolation"]

    assert check.status == "fail"
    assert any(fix in each for each in check.fixes)
