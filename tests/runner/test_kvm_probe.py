"""KVM is usable when a guest with work to do really runs under it."""

import shutil
from pathlib import Path

import pytest

from cliffwatch_runner.host import kvm_probe
from cliffwatch_runner.host.kvm_probe import kvm_usable, probe_guest, probe_rom

needs_qemu = pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="needs qemu-system-x86_64")


@needs_qemu
def test_the_probe_guest_reaches_64_bit_mode_and_counts_down_under_emulation() -> None:
    probe = probe_guest("qemu-system-x86_64", "tcg")

    assert probe.usable, probe.reason


@needs_qemu
def test_a_guest_that_never_tells_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    rom = bytearray(probe_rom())
    rom[:2] = b"\xeb\xfe"  # jmp to itself
    monkeypatch.setattr(kvm_probe, "probe_rom", lambda: bytes(rom))
    monkeypatch.setattr(kvm_probe, "DEADLINE_SECONDS", 1.0)

    probe = probe_guest("qemu-system-x86_64", "tcg")

    assert not probe.usable
    assert probe.reason == "the probe guest did not execute one instruction within 1 s"


@pytest.mark.parametrize(
    ("script", "usable", "reason"),
    [
        ("exit 85", True, "a probe guest ran in"),
        ("exit 0", False, "QEMU could not run a probe guest: exit status 0 without output"),
        (
            "echo 'Could not access KVM kernel module: Permission denied'; exit 1",
            False,
            "QEMU could not run a probe guest: Could not access KVM kernel module: Permission denied",
        ),
        (
            "echo 'warning: no pni'; printf 12; exec sleep 100",
            False,
            (
                "the probe guest started but did not finish its hundred million rounds within 1 s: its code"
                " is emulated, not run"
            ),
        ),
        (
            "printf 1; exec sleep 100",
            False,
            "the probe guest started but did not reach 64-bit mode within 1 s",
        ),
    ],
)
def test_the_reason_says_how_far_the_guest_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, usable: bool, reason: str
) -> None:
    monkeypatch.setattr(kvm_probe, "DEADLINE_SECONDS", 1.0)
    qemu = tmp_path / "qemu"
    qemu.write_text(f"#!/bin/sh\n{script}\n")
    qemu.chmod(0o755)

    probe = kvm_usable(str(qemu))

    assert probe.usable is usable
    assert probe.reason.startswith(reason)


def test_a_host_without_qemu_is_told_so() -> None:
    assert kvm_usable("qemu-of-nowhere").reason == "qemu-of-nowhere is not installed"


@needs_qemu
def test_the_answer_about_this_host_has_a_reason() -> None:
    probe = kvm_usable()

    assert probe.reason
    assert probe.usable == probe.reason.startswith("a probe guest ran")
