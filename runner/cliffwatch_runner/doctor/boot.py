"""Checks of what booting a guest needs, in either mode."""

from collections.abc import Iterator

from cliffwatch_runner.doctor.check import Check, Status
from cliffwatch_runner.doctor.facts import HostFacts
from cliffwatch_runner.host.programs import parse_version

OLDEST_TRIED_QEMU = (7, 2)
VIRTME_NG = (1, 42)


def boot_checks(facts: HostFacts) -> Iterator[Check]:
    yield qemu(facts)
    yield virtme_ng(facts)
    yield udev(facts)
    yield function_counts(facts)
    yield lock(facts)


def qemu(facts: HostFacts) -> Check:
    version = facts.programs.get("qemu")
    status: Status = (
        "fail" if version is None else "ok" if parse_version(version) >= OLDEST_TRIED_QEMU else "warn"
    )
    newer = "Debian 12 and Ubuntu 24.04 have QEMU 7.2 or newer: upgrade the host."
    return Check(
        name="qemu",
        group="boot",
        status=status,
        finding=version if version is not None else "qemu-system-x86_64 is not installed",
        why="It runs the guest. QEMU 7.2 is the oldest that Cliffwatch was tried with.",
        fixes={"fail": ("sudo apt install qemu-system-x86",), "warn": (newer,)}.get(status, ()),
    )


def virtme_ng(facts: HostFacts) -> Check:
    version = facts.programs.get("virtme-ng")
    good = parse_version(version) >= VIRTME_NG and facts.virtme_run is not None
    without = "" if facts.virtme_run is not None else ", but virtme-run is not beside it or on PATH"
    return Check(
        name="virtme-ng",
        group="boot",
        status="ok" if good else "fail",
        finding=f"{version}{without}" if version is not None else "not installed",
        why="It boots the guest on the host's root file system. Older versions lack options that runs use.",
        fixes=() if good else ("make setup  # or: pip install 'virtme-ng>=1.42'",),
    )


def udev(facts: HostFacts) -> Check:
    return Check(
        name="udev",
        group="boot",
        status="ok" if facts.udev is not None else "fail",
        finding=facts.udev or "not installed",
        why="The guest runs the host's udev. Without it, its output is lost and every boot ends with 255.",
        fixes=() if facts.udev is not None else ("sudo apt install udev",),
    )


def function_counts(facts: HostFacts) -> Check:
    return Check(
        name="function-counts",
        group="boot",
        status="ok" if facts.counting is None else "warn",
        finding="the emulator loads the counting plugin"
        if facts.counting is None
        else facts.counting.message,
        why="icount runs count instructions by function to locate changes. Without it they measure the same.",
        fixes=() if facts.counting is None else ("sudo apt install gcc qemu-system-x86",),
    )


def lock(facts: HostFacts) -> Check:
    names = "; ".join(map(str, facts.lock.holders)) or "a process that left no name"
    return Check(
        name="host-lock",
        group="boot",
        status="warn" if facts.lock.locked else "ok",
        finding=f"taken by {names}" if facts.lock.locked else "free",
        why="A walltime run uses the host alone; icount runs share it.",
        fixes=("None needed: a run that is started now waits for the lock.",) if facts.lock.locked else (),
    )
