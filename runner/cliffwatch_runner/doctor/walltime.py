"""Checks of what walltime runs need in addition: KVM on bare metal, and a quiet host."""

from collections.abc import Iterator

from cliffwatch.failure import Failure
from cliffwatch_runner.doctor.check import Check
from cliffwatch_runner.doctor.facts import HostFacts
from cliffwatch_runner.doctor.switches import switch_check, switches
from cliffwatch_runner.host.facts import platform_name
from cliffwatch_runner.host.journal import Journal
from cliffwatch_runner.host.tuning_rights import lines_to_allow

QUIET_LOAD = 0.5


def walltime_checks(facts: HostFacts) -> Iterator[Check]:
    yield kvm(facts)
    yield bare_metal(facts)
    yield processor(facts)
    yield microcode(facts)
    yield clock_source(facts)
    yield tuning(facts)
    yield from (switch_check(switch, facts) for switch in switches(facts))
    yield c_states(facts)
    yield isolated_cpus(facts)
    yield swap(facts)
    yield load(facts)
    yield leftover(facts)


def kvm(facts: HostFacts) -> Check:
    return Check(
        name="kvm",
        group="walltime",
        status="ok" if facts.kvm.usable else "fail",
        finding=facts.kvm.reason,
        why="Walltime guests need KVM. This check boots one: opening /dev/kvm proves little.",
        fixes=() if facts.kvm.usable else _kvm_fixes(facts.kvm.reason),
    )


def _kvm_fixes(reason: str) -> tuple[str, ...]:
    if "not installed" in reason:
        return ("sudo apt install qemu-system-x86",)
    if "Permission denied" in reason:
        return ("sudo usermod -aG kvm $USER  # then log in again",)
    if "No such file" in reason:
        return ("sudo modprobe -a kvm_amd kvm_intel  # if that fails, turn on SVM or VT-x in the BIOS",)
    return ("Use bare metal, or a hypervisor with nested virtualisation; until then: --mode icount",)


def bare_metal(facts: HostFacts) -> Check:
    virtual = facts.at("hypervisor") is True
    return Check(
        name="bare-metal",
        group="walltime",
        status="fail" if virtual else "ok",
        finding="this host is a virtual machine" if virtual else "no hypervisor",
        why="Other virtual machines on the same hardware take time, which cannot be detected from here.",
        fixes=(
            ("Use a dedicated machine for walltime runs; --mode icount is exact here as well.",)
            if virtual
            else ()
        ),
    )


def processor(facts: HostFacts) -> Check:
    """Reports the processor, whose name is the platform of its series. Any processor is ok."""
    platform = platform_name(facts.record, "walltime")
    return Check(
        name="processor",
        group="walltime",
        status="ok",
        finding=f"{platform} ({facts.word('cpu', 'model_name') or 'model unknown'})",
        why="Each platform has its own series; they are never compared. --platform NAME sets another name.",
    )


def microcode(facts: HostFacts) -> Check:
    revisions = facts.words("cpu", "microcode")
    old = (facts.word("vulnerabilities", "old_microcode") or "").startswith("Vulnerable")
    good = len(revisions) == 1 and not old
    package = "amd64-microcode" if facts.word("cpu", "vendor") == "AuthenticAMD" else "intel-microcode"
    finding = " and ".join(revisions) or "unknown"
    return Check(
        name="microcode",
        group="walltime",
        status="ok" if good else "warn",
        finding=f"{finding}, which the kernel calls old" if old else finding,
        why="An update can change the speed of kernels: a new revision starts a new epoch of every series.",
        fixes=() if good else (f"sudo apt install {package} && sudo reboot",),
    )


def clock_source(facts: HostFacts) -> Check:
    source = facts.word("clocksource")
    return Check(
        name="clock-source",
        group="walltime",
        status="ok" if source == "tsc" else "fail",
        finding=source or "unknown",
        why="Guests read the host's TSC. Another source is slow, and shows that the TSC is unreliable.",
        fixes=(
            ()
            if source == "tsc"
            else ("sudo dmesg | grep -i tsc  # shows why; update the BIOS, then boot with tsc=reliable",)
        ),
    )


def tuning(facts: HostFacts) -> Check:
    return Check(
        name="tuning",
        group="walltime",
        status="ok" if facts.may_tune else "warn",
        finding=(
            f"{facts.user} may tune this host" if facts.may_tune else f"{facts.user} may not tune this host"
        ),
        why=(
            "A run changes the settings below and restores them, as root or through a helper"
            " that sudo starts and that can do nothing else."
        ),
        fixes=() if facts.may_tune else lines_to_allow(facts.user),
    )


def c_states(facts: HostFacts) -> Check:
    states = ", ".join(facts.words("idle", "states")) or "none shown"
    kept_out = "; a walltime run keeps CPUs out of the deep ones"
    return Check(
        name="c-states",
        group="walltime",
        status="ok" if facts.may_hold_latency else "fail",
        finding=states + (kept_out if facts.may_hold_latency else ""),
        why="Leaving a deep idle state takes up to hundreds of microseconds and cools the caches.",
        fixes=(
            ()
            if facts.may_hold_latency
            else (
                "sudo chown $USER /dev/cpu_dma_latency  # or processor.max_cstate=1 intel_idle.max_cstate=1",
            )
        ),
    )


def isolated_cpus(facts: HostFacts) -> Check:
    isolated, tickless = facts.word("isolation", "isolated"), facts.word("isolation", "nohz_full")
    return Check(
        name="isolated-cpus",
        group="walltime",
        status="ok" if isolated else "warn",
        finding=f"{isolated} (without the tick: {tickless or 'none'})" if isolated else "none",
        why="On an isolated CPU the host schedules only the guest that is pinned there.",
        fixes=(
            ()
            if isolated
            else (
                (
                    'GRUB_CMDLINE_LINUX="isolcpus=4-7 nohz_full=4-7 rcu_nocbs=4-7"'
                    "  # in /etc/default/grub; whole cores of one node"
                ),
                "sudo update-grub && sudo reboot",
            )
        ),
    )


def swap(facts: HostFacts) -> Check:
    size = facts.number("memory", "swap_kib") or 0
    return Check(
        name="swap",
        group="walltime",
        status="warn" if size else "ok",
        finding=f"{size / 2**20:.1f} GiB" if size else "none",
        why="A guest waits for the disk if its memory was swapped out.",
        fixes=("sudo swapoff -a",) if size else (),
    )


def load(facts: HostFacts) -> Check:
    averages = facts.at("load_average")
    latest = averages[0] if isinstance(averages, list) and averages else None
    busy = latest is None or latest > QUIET_LOAD
    return Check(
        name="load",
        group="walltime",
        status="warn" if busy else "ok",
        finding="unknown" if latest is None else f"{latest:.2f} over the last minute",
        why="Other processes take caches, memory bandwidth and time.",
        fixes=(
            ("ps -eo pcpu,args --sort=-pcpu | head  # stop what is there, then wait a minute",)
            if busy
            else ()
        ),
    )


def leftover(facts: HostFacts) -> Check:
    left = facts.leftover
    text = left.message if isinstance(left, Failure) else "none" if left is None else _left_by(left)
    return Check(
        name="leftover-tuning",
        group="walltime",
        status="ok" if left is None else "fail",
        finding=text,
        why="Settings that a killed run changed stay changed until they are restored.",
        fixes=() if left is None else ('sudo "$(command -v cliffwatch)" doctor --restore',),
    )


def _left_by(journal: Journal) -> str:
    names = ", ".join(sorted({entry.name for entry in journal.entries}))
    began = journal.written[:16].replace("T", " ")
    return f"a run that began to tune at {began} UTC and was killed left: {names}"
