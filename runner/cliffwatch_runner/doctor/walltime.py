"""Checks of what walltime runs need in addition: KVM on bare metal, and a quiet host."""

from collections.abc import Iterator

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
        why="Walltime guests run on the processor itself. That /dev/kvm opens does not show that a guest runs.",
        fixes=() if facts.kvm.usable else _kvm_fixes(facts.kvm.reason),
    )


def _kvm_fixes(reason: str) -> tuple[str, ...]:
    if "not installed" in reason:
        return ("sudo apt install qemu-system-x86",)
    if "Permission denied" in reason:
        return ("sudo usermod -aG kvm $USER  # then log in again",)
    if "No such file" in reason:
        return ("sudo modprobe -a kvm_amd kvm_intel  # turn on SVM or VT-x in the BIOS where that fails",)
    return ("Use a host whose hypervisor passes virtualisation on, or bare metal; until then: --mode icount",)


def bare_metal(facts: HostFacts) -> Check:
    virtual = facts.at("hypervisor") is True
    return Check(
        name="bare-metal",
        group="walltime",
        status="fail" if virtual else "ok",
        finding="this host is a virtual machine itself" if virtual else "no hypervisor",
        why="Neighbours on the same machine take time that nothing here can see.",
        fixes=("Use a machine of your own for walltime runs; --mode icount is exact here as well.",)
        if virtual
        else (),
    )


def processor(facts: HostFacts) -> Check:
    """Reports the processor, whose name is the platform of its series. Any processor is ok."""
    platform = platform_name(facts.record, "walltime")
    return Check(
        name="processor",
        group="walltime",
        status="ok",
        finding=f"{platform} ({facts.word('cpu', 'model_name') or 'model unknown'})",
        why="Series are kept by platform and never compared across. --platform NAME names it otherwise.",
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
        why="An update can change how fast kernels are; a new revision starts a new epoch of every series.",
        fixes=() if good else (f"sudo apt install {package} && sudo reboot",),
    )


def clock_source(facts: HostFacts) -> Check:
    source = facts.word("clocksource")
    return Check(
        name="clock-source",
        group="walltime",
        status="ok" if source == "tsc" else "fail",
        finding=source or "unknown",
        why="Guests read the time from the host's TSC; another source is slow to read and shows that the TSC is broken.",
        fixes=()
        if source == "tsc"
        else (
            "sudo dmesg | grep -i tsc  # shows why; update the BIOS, then try tsc=reliable on the kernel command line",
        ),
    )


def tuning(facts: HostFacts) -> Check:
    return Check(
        name="tuning",
        group="walltime",
        status="ok" if facts.may_tune else "warn",
        finding=f"{facts.user} may tune this host"
        if facts.may_tune
        else f"{facts.user} may not tune this host",
        why="A run sets what follows and puts it back, as root or by a helper that sudo starts and that can do nothing else.",
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
        fixes=()
        if facts.may_hold_latency
        else ("sudo chown $USER /dev/cpu_dma_latency  # or processor.max_cstate=1 intel_idle.max_cstate=1",),
    )


def isolated_cpus(facts: HostFacts) -> Check:
    isolated, tickless = facts.word("isolation", "isolated"), facts.word("isolation", "nohz_full")
    return Check(
        name="isolated-cpus",
        group="walltime",
        status="ok" if isolated else "warn",
        finding=f"{isolated} (without the tick: {tickless or 'none'})" if isolated else "none",
        why="On an isolated CPU the host schedules nothing but the guest that is pinned there.",
        fixes=()
        if isolated
        else (
            'GRUB_CMDLINE_LINUX="isolcpus=4-7 nohz_full=4-7 rcu_nocbs=4-7"  # in /etc/default/grub; whole cores of one node',
            "sudo update-grub && sudo reboot",
        ),
    )


def swap(facts: HostFacts) -> Check:
    size = facts.number("memory", "swap_kib") or 0
    return Check(
        name="swap",
        group="walltime",
        status="warn" if size else "ok",
        finding=f"{size / 2**20:.1f} GiB" if size else "none",
        why="A guest whose memory was swapped out waits for the disk.",
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
        why="Whatever else runs here takes caches, memory bandwidth and time.",
        fixes=("ps -eo pcpu,args --sort=-pcpu | head  # stop what is there, then wait a minute",)
        if busy
        else (),
    )


def leftover(facts: HostFacts) -> Check:
    left = facts.leftover
    text = _left_by(left) if isinstance(left, Journal) else left
    return Check(
        name="leftover-tuning",
        group="walltime",
        status="ok" if left is None else "fail",
        finding="none" if text is None else text,
        why="What a killed run changed stays changed until somebody puts it back.",
        fixes=() if left is None else ('sudo "$(command -v cliffwatch)" doctor --restore',),
    )


def _left_by(journal: Journal) -> str:
    names = ", ".join(sorted({entry.name for entry in journal.entries}))
    return f"a run that began to tune at {journal.written[:16].replace('T', ' ')} UTC and was killed left: {names}"
