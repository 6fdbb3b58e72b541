"""Checks of the settings that a walltime run changes itself. Only users without that right must fix them."""

from collections.abc import Iterator
from dataclasses import dataclass

from cliffwatch_runner.doctor.check import Check, Status
from cliffwatch_runner.doctor.facts import HostFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A setting that a walltime run changes if it may."""

    name: str
    finding: str | None
    """None if this host does not have the setting."""

    good: bool
    """True if the setting is as wanted."""

    turning: str
    """What a run does, after the words "a walltime run"."""

    why: str
    fix: str
    unfixed: Status = "warn"
    """Status if the setting is not as wanted and this user may not change it."""

    absent: Status = "ok"
    """Status if this host does not have the setting."""

    absent_fix: str = ""


def switch_check(switch: Switch, facts: HostFacts) -> Check:
    if switch.finding is None:
        fixes = (switch.absent_fix,) if switch.absent_fix else ()
        return _switched(switch, switch.absent, "this host does not have this setting", fixes)
    if switch.good:
        return _switched(switch, "ok", switch.finding, ())
    if facts.may_tune:
        return _switched(switch, "ok", f"{switch.finding}; a walltime run {switch.turning}", ())
    return _switched(switch, switch.unfixed, switch.finding, (switch.fix,))


def _switched(switch: Switch, status: Status, finding: str, fixes: tuple[str, ...]) -> Check:
    return Check(
        name=switch.name, group="walltime", status=status, finding=finding, why=switch.why, fixes=fixes
    )


def switches(facts: HostFacts) -> Iterator[Switch]:
    yield from _clock_switches(facts)
    yield from _background_switches(facts)


def _clock_switches(facts: HostFacts) -> Iterator[Switch]:
    smt, boost = facts.word("smt"), facts.word("frequency", "boost")
    governors = facts.words("frequency", "governors")
    no_turbo = "intel_pstate" in facts.words("frequency", "drivers") or "intel_cpufreq" in facts.words(
        "frequency", "drivers"
    )
    yield Switch(
        name="smt",
        finding=smt,
        good=smt in {"off", "forceoff", "notsupported", "notimplemented"},
        turning="turns it off and on again",
        why="A sibling thread takes execution units and caches from the measured one.",
        fix="echo off | sudo tee /sys/devices/system/cpu/smt/control",
        unfixed="fail",
    )
    yield Switch(
        name="boost",
        finding=boost,
        good=boost == "off",
        turning="turns it off and on again",
        why="With it, the clock frequency depends on temperature and on the load of other cores.",
        fix="echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
        if no_turbo
        else "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        unfixed="fail",
        absent="warn",
        absent_fix="Turn off Turbo Boost (Intel) or Core Performance Boost (AMD) in the BIOS.",
    )
    yield Switch(
        name="governor",
        finding=", ".join(governors) or None,
        good=governors == ("performance",),
        turning="sets performance and restores it",
        why="Other governors change the clock frequency with the load.",
        fix="echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        unfixed="fail",
        absent="warn",
        absent_fix="In the BIOS, let the operating system control the processor's power.",
    )


def _background_switches(facts: HostFacts) -> Iterator[Switch]:
    ksm, thp = facts.word("memory", "ksm"), facts.word("memory", "transparent_hugepage")
    numa = facts.word("numa", "balancing")
    yield Switch(
        name="irqbalance",
        finding="running" if facts.irqbalance else "not running",
        good=not facts.irqbalance,
        turning="stops it and starts it again",
        why="It moves interrupts onto the measured CPUs.",
        fix="sudo systemctl stop irqbalance",
    )
    yield Switch(
        name="ksm",
        finding=ksm,
        good=ksm in {"0", "2"},
        turning="sets 0 and restores it",
        why="Its thread scans and merges the guest's pages while it runs.",
        fix="echo 0 | sudo tee /sys/kernel/mm/ksm/run",
    )
    yield Switch(
        name="numa-balancing",
        finding=numa,
        good=numa == "0",
        turning="sets 0 and restores it",
        why="It unmaps the guest's pages to see who uses them, and moves them.",
        fix="sudo sysctl kernel.numa_balancing=0",
    )
    yield Switch(
        name="thp",
        finding=thp,
        good=thp == "never",
        turning="sets never and restores it",
        why="With it, a different share of the guest is in huge pages in each boot.",
        fix="echo never | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
    )
    yield Switch(
        name="watchdogs",
        finding=facts.nmi_watchdog,
        good=facts.nmi_watchdog == "0",
        turning="sets 0 and restores it",
        why="The NMI watchdog interrupts every CPU and takes a performance counter.",
        fix="sudo sysctl kernel.nmi_watchdog=0",
    )
