"""C that is compiled here, and the digests of its functions."""

import gzip
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner.build.code.functions import function_digests
from cliffwatch_runner.sandbox.sandbox import Sandbox

PLAIN = Sandbox(level="none", user=None)


HEADER = """
static inline int scaled(int x) { return x * 3; }
#ifdef KEY_TRUE
#define KEY_ENABLED 1
#define KEY_CODE "jmp %l[yes]"
#else
#define KEY_ENABLED 0
#define KEY_CODE ".byte 0x0f,0x1f,0x44,0x00,0x00"
#endif
"""


SOURCE = """
#include "inline.h"
#define APART __attribute__((noinline))
const int table[4] = {1, 2, 3, 4};
int setting = 7;
int counter;
int jit(int);
int key = KEY_ENABLED;
APART int say(const char *text) { return text[0] + counter; }
APART int helper(int x) { return x + 11; }
struct operations { int (*run)(int); };
struct operations operations = {.run = helper};
APART int uses_inline(int x) { return scaled(x) + counter; }
APART int uses_table(int place) { return table[place & 3]; }
APART int uses_setting(int x) { return x * setting; }
APART int uses_pointer(int x) { return operations.run(x) + 1; }
APART int uses_text(void) { return say("a text that stays") + 1; }
APART int uses_key(int x) {
  asm goto(KEY_CODE : : : : yes);
  return x;
yes:
  return x + counter;
}
APART int calls(int x) { return helper(x) + 1; }
APART int jit(int x) { return x ^ 0x5a; }
APART int untouched(int x) { counter += x; return counter; }
"""


SCRIPT = """
SECTIONS {
  . = 0xffffffff81000000;
  _stext = .; .text : { *(.text*) } _etext = .;
  . = ALIGN(4096); __start_rodata = .; .rodata : { *(.rodata*) } __end_rodata = .;
  . = ALIGN(4096); .init.data : { __initcall_start = .; *(.initcall0) __initcall1_start = .; *(.initcall1) __initcall_end = .; QUAD(0) }
  . = ALIGN(4096); .data : { *(.data*) } .bss : { *(.bss*) *(COMMON) } _end = .;
  /DISCARD/ : { *(.note*) *(.comment) *(.eh_frame*) }
}
"""


def build(folder: Path, source: str = SOURCE, header: str = HEADER, *flags: str) -> Path:
    """A folder as a kernel's entry in the cache: bzImage and System.map."""
    folder.mkdir(parents=True)
    (folder / "kernel.c").write_text(source)
    (folder / "inline.h").write_text(header)
    (folder / "kernel.lds").write_text(SCRIPT)
    compiler = [
        "gcc",
        "-O2",
        "-ffreestanding",
        "-fno-pic",
        "-mcmodel=kernel",
        "-fcf-protection=none",
        "-c",
        *flags,
    ]
    subprocess.run([*compiler, "kernel.c", "-o", "kernel.o"], cwd=folder, check=True)
    subprocess.run(["ld", "-T", "kernel.lds", "kernel.o", "-o", "vmlinux"], cwd=folder, check=True)
    symbols = subprocess.run(["nm", "-n", "vmlinux"], cwd=folder, check=True, capture_output=True).stdout
    (folder / "System.map").write_bytes(symbols)
    (folder / "bzImage").write_bytes(packed((folder / "vmlinux").read_bytes()))
    return folder


def packed(vmlinux: bytes) -> bytes:
    payload = gzip.compress(vmlinux)
    header = bytearray(1024)
    header[0x1F1] = 1
    header[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", header, 0x248, 0, len(payload))
    return bytes(header) + payload


def digests(folder: Path) -> Mapping[str, str]:
    made = function_digests(folder, folder / "cache", PLAIN)
    assert not isinstance(made, Failure), made
    return made
