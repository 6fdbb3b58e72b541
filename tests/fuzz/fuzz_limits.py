"""Reads the worst inputs that are known, each in a process of its own with a limit of memory: a result or a
refusal comes back.

.venv/bin/python tests/fuzz/fuzz_limits.py
"""

import bz2
import gzip
import lzma
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import zstandard
from wrapped_up import tarred, zipped

from cliffwatch.failure import Failure
from cliffwatch.importing import ImportedFile, import_file

MOST_BYTES = 2 << 30
"""Of address space beyond what the process has when it begins: an input has at most 64 MiB, packed or not."""

MOST_SECONDS = 600
_FULL = int(sys.argv[1]) << 20 if len(sys.argv) > 1 else 16 << 20
"""64 MiB is what an input may have; a quarter of it shows the same in a quarter of the time."""


def filled(piece: str) -> bytes:
    return (piece * (_FULL // len(piece.encode()) + 1)).encode()[:_FULL]


WORST: Mapping[str, Callable[[], bytes]] = {
    "gzip of 4 GiB": lambda: gzip.compress(bytes(16 << 20)) * 256,
    "xz of 1 GiB": lambda: lzma.compress(bytes(1 << 30), preset=0),
    "xz with a dictionary of 1 GiB": lambda: lzma.compress(
        b"x", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    ),
    "zstd of 1 GiB": lambda: zstandard.compress(bytes(1 << 30)),
    "bzip2 of 1 GiB": lambda: bz2.compress(bytes(64 << 20)) * 16,
    "zip of 1 GiB": lambda: zipped(bytes(1 << 30)),
    "gzip of a zip of a tar": lambda: gzip.compress(zipped(tarred(bytes(256 << 20)))),
    "zip of a million entries": lambda: b"PK\x03\x04" + b"PK\x01\x02" * (8 << 20),
    "line ends": lambda: gzip.compress(filled("\n")),
    "carriage returns": lambda: gzip.compress(filled("\r")),
    "short lines": lambda: filled("x" * 16 + "\n"),
    "names of benchmarks": lambda: filled("BenchmarkX \t\n"),
    "result lines": lambda: filled("BenchmarkX-8 1000 12.5 ns/op 3 B/op\n"),
    "wrapped result lines": lambda: filled("BenchmarkX-8 1000\n12.5 ns/op\n"),
    "events of go test": lambda: filled('{"Action":"output","Package":"a","Output":"x"}\n'),
    "one event": lambda: b'{"Action":"output","Package":"a","Output":"' + filled("x")[:-100] + b'"}',
    "lists in lists": lambda: filled("["),
    "empty lists": lambda: b"[{" + filled("[],"),
    "a document of Bencher": lambda: b"{" + filled('"x":{"latency":{"value":1}},'),
    "Latin-1": lambda: b"\xe9" * _FULL,
    "UTF-16": lambda: b"\xff\xfe" + filled("x\0"),
    "UTF-32": lambda: b"\xff\xfe\0\0" + filled("x\0\0\0"),
    "an emoji in ASCII": lambda: "\U0001f600".encode() + filled("Iter 0 x\n")[:-8],
    "a mail of parts": lambda: (
        b'Content-Type: multipart/mixed; boundary="b"\n\n' + filled("--b\n\nx\n")[:-100]
    ),
    "parts in parts": lambda: filled('Content-Type: multipart/mixed; boundary="b"\n\n--b\n'),
    "a mail in base64": lambda: (
        b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + filled("AAAA\n")[:-100]
    ),
    "line ends in base64": lambda: (
        b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + filled("CgoKCgoK\n")[:-100]
    ),
    "soft line breaks": lambda: b"=C2=B1\n" + filled("x=\n")[:-100],
    "flowed lines": lambda: b"Content-Type: text/plain; format=flowed\n\n" + filled("x " * 20 + "\n")[:-100],
    "headers": lambda: b"Content-Type: a\n" + filled(" b;" * 10 + "\n")[:-100],
    "stamps": lambda: filled("2024-01-02T03:04:05Z \n"),
    "kernel messages": lambda: filled("x[   12.345678] y\n"),
    "banners": lambda: filled("Setting up benchmark 'x'...\n"),
    "beginnings of lines": lambda: filled("Iter   0 (\n"),
    "rows of veristat": lambda: (
        b"file_name,prog_name,verdict,total_insns\n" + filled("a,b,success,1\n")[:-100]
    ),
    "headers of veristat": lambda: filled("file_name,prog_name\n"),
    "one long line": lambda: filled("Benchmark"),
    "blanks": lambda: b"Summary: hits 5" + filled(" ")[:-100] + b"x",
}


def main() -> None:
    failed = [name for name in WORST if not _survives(name)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _survives(name: str) -> bool:
    """Whether a child that reads the input ends well."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(WORST[name]())
        file.flush()
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            os._exit(_read(Path(file.name)))
        _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    how = "ok" if code == 0 else f"exit {code}"
    print(f"{how:8}{seconds:7.1f} s {usage.ru_maxrss >> 10:6} MiB  {name}", flush=True)  # noqa: T201
    return code == 0 and seconds < MOST_SECONDS


def _read(path: Path) -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_BYTES,) * 2)
    return 0 if isinstance(import_file(path), ImportedFile | Failure) else 1


if __name__ == "__main__":
    main()
