"""Checks that KVM works by running a guest under it.

/dev/kvm alone proves nothing. With nested virtualisation, the device may open and virtual machines may start
although their code is emulated so slowly that a kernel never boots. So the probe is a guest with work to do.
It has no firmware and no kernel, only a ROM that switches the processor to 64 bits, counts down from a
hundred million and signals the host. A processor does that in a tenth of a second.
"""

import shutil
import signal
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_runner import process

CPU_SECONDS = 2
DEADLINE_SECONDS = 30.0
"""The CPU limit applies to the guest's work, so that a busy host does not look like a host without KVM.

The deadline ends a guest that sleeps.
"""

ROUNDS = 100_000_000

_PROOF = 0x2A
_PROOF_STATUS = _PROOF << 1 | 1
"""QEMU's isa-debug-exit exits with twice the byte that the guest wrote, plus one."""

_STARTED, _LONG_MODE = b"1", b"2"
_ROM_SIZE = 0x10000
_ROM_BASE = 0xF0000
_RESET_VECTOR = 0xFFF0


@dataclass(frozen=True, slots=True, kw_only=True)
class KvmProbe:
    """The result of the probe."""

    usable: bool
    reason: str
    """A clause that describes the result, good or bad."""


def kvm_usable(qemu: str = "qemu-system-x86_64") -> KvmProbe:
    """Runs the probe guest under KVM. Takes a moment if KVM works, else up to CPU_SECONDS of CPU time."""
    return probe_guest(qemu, "kvm")


def probe_guest(qemu: str, accelerator: str) -> KvmProbe:
    """Runs the probe guest under any of QEMU's accelerators."""
    if shutil.which(qemu) is None:
        return KvmProbe(usable=False, reason=f"{qemu} is not installed")
    with tempfile.TemporaryDirectory(prefix="cliffwatch-probe-") as folder:
        rom = Path(folder) / "probe.rom"
        rom.write_bytes(probe_rom())
        try:
            ended = process.run(_argv(qemu, accelerator, rom), deadline=DEADLINE_SECONDS)
        except OSError:
            return KvmProbe(usable=False, reason="prlimit is not installed: install util-linux")
    return _judge_probe(ended)


def _argv(qemu: str, accelerator: str, rom: Path) -> list[str]:
    machine = ["-accel", accelerator, "-machine", "pc", "-m", "16M", "-bios", str(rom)]
    quiet = ["-nodefaults", "-display", "none", "-no-reboot"]
    console = ["-chardev", "stdio,id=console", "-device", "isa-debugcon,iobase=0xe9,chardev=console"]
    limited = ["prlimit", f"--cpu={CPU_SECONDS}", "--core=0"]
    return [*limited, qemu, *machine, *quiet, *console, "-device", "isa-debug-exit,iobase=0xf4,iosize=4"]


def _judge_probe(ended: process.Finished) -> KvmProbe:
    if ended.status == _PROOF_STATUS and not ended.timed_out:
        return KvmProbe(usable=True, reason=f"a probe guest ran in {ended.seconds:.1f} s")
    lines = [line.strip() for line in ended.output.splitlines() if line.strip()]
    overworked = ended.status in (-signal.SIGXCPU, -signal.SIGKILL)
    if not ended.timed_out and not overworked:
        last = lines[-1] if lines else f"exit status {ended.status} without output"
        return KvmProbe(usable=False, reason=f"QEMU could not run a probe guest: {last}")
    marks = {line for line in lines if line.strip("12") == ""}
    reached = "".join(sorted(marks))
    within = f"within {CPU_SECONDS} s of processor time" if overworked else f"within {DEADLINE_SECONDS:g} s"
    if _LONG_MODE.decode() in reached:
        slow = "the probe guest started but did not finish its hundred million rounds"
        return KvmProbe(usable=False, reason=f"{slow} {within}: its code is emulated, not run")
    if _STARTED.decode() in reached:
        return KvmProbe(
            usable=False, reason=f"the probe guest started but did not reach 64-bit mode {within}"
        )
    return KvmProbe(usable=False, reason=f"the probe guest did not execute one instruction {within}")


def probe_rom() -> bytes:
    """Builds a 64 KiB ROM for `qemu -bios`: code at its start, the reset vector 16 bytes before its end.

    Instruction encodings are from the Intel 64 manual, volume 2; the mode switch follows volume 3, 9.8.5.
    QEMU maps the ROM below 1 MiB as well, so a far jump to F000:0000 reaches its start. QEMU gives the guest
    zeroed memory, in which three page-table entries identity-map the first 2 MiB.
    """
    gdt_at = 0xC0
    rom = bytearray(_ROM_SIZE)
    gdt = struct.pack("<4Q", 0, 0x00CF9B000000FFFF, 0x00CF93000000FFFF, 0x00AF9B000000FFFF)
    rom[gdt_at : gdt_at + len(gdt)] = gdt
    gdtr_at = gdt_at + len(gdt)
    rom[gdtr_at : gdtr_at + 6] = struct.pack("<HI", len(gdt) - 1, _ROM_BASE + gdt_at)
    code = _real_mode(gdtr_at)
    code += _protected_mode(len(code))
    code += _long_mode()
    assert len(code) <= gdt_at, "code runs into its own descriptors"
    rom[: len(code)] = code
    rom[_RESET_VECTOR : _RESET_VECTOR + 5] = b"\xea\x00\x00\x00\xf0"  # ljmp $0xf000, $0
    return bytes(rom)


def _real_mode(gdtr_at: int) -> bytes:
    code = b"\xfa"  # cli
    code += b"\xb0" + _STARTED + b"\xe6\xe9"  # mov $'1', %al; out %al, $0xe9
    code += b"\x2e\x66\x0f\x01\x16" + struct.pack("<H", gdtr_at)  # lgdtl %cs:gdtr
    code += b"\x0f\x20\xc0\x0c\x01\x0f\x22\xc0"  # cr0 |= PE
    after = _ROM_BASE + len(code) + 8
    return code + b"\x66\xea" + struct.pack("<IH", after, 0x08)  # ljmpl $0x08, $after


def _protected_mode(offset: int) -> bytes:
    code = b"\x66\xb8\x10\x00\x8e\xd8"  # mov $0x10, %ax; mov %ax, %ds
    for address, entry in ((0x1000, 0x2003), (0x2000, 0x3003), (0x3000, 0x83)):
        code += b"\xc7\x05" + struct.pack("<II", address, entry)  # movl $entry, address
    code += b"\xb8\x00\x10\x00\x00\x0f\x22\xd8"  # cr3 = 0x1000
    code += b"\x0f\x20\xe0\x0c\x20\x0f\x22\xe0"  # cr4 |= PAE
    code += b"\xb9\x80\x00\x00\xc0\x0f\x32\x80\xcc\x01\x0f\x30"  # EFER |= LME
    code += b"\x0f\x20\xc0\x0d\x00\x00\x00\x80\x0f\x22\xc0"  # cr0 |= PG
    after = _ROM_BASE + offset + len(code) + 7
    return code + b"\xea" + struct.pack("<IH", after, 0x18)  # ljmp $0x18, $after


def _long_mode() -> bytes:
    code = b"\xb0" + _LONG_MODE + b"\xe6\xe9"  # mov $'2', %al; out %al, $0xe9
    code += b"\xb9" + struct.pack("<I", ROUNDS)  # mov $ROUNDS, %ecx
    code += b"\xff\xc9\x75\xfc"  # 1: dec %ecx; jnz 1b
    code += b"\xb0" + bytes([_PROOF]) + b"\xe6\xf4"  # mov $_PROOF, %al; out %al, $0xf4
    return code + b"\xf4\xeb\xfd"  # 2: hlt; jmp 2b
