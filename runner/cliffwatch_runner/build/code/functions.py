"""Digests and lists a kernel's functions and its JIT's output.

This happens in the sandbox of its guests, because the kernel is untrusted.
"""

import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

import cliffwatch
import cliffwatch_runner
from cliffwatch.failure import Failure, host_failed
from cliffwatch.formats.reading import decode
from cliffwatch_runner import process
from cliffwatch_runner.build.cache.entries import Stopped, hold_lock, new_entry
from cliffwatch_runner.build.code.image import MEASURE_ALL
from cliffwatch_runner.host.programs import guest_programs
from cliffwatch_runner.sandbox.sandbox import HOME, Mount, Sandbox
from cliffwatch_runner.sandbox.untrusted_files import open_below

RECIPE = "2"
"""Increase it when the same function could get another digest."""

_DIGESTS = "digests.json"
_SECONDS = 600.0
_MEMORY_BYTES = 4 << 30
_LARGEST_ANSWER = 256 << 20
_WAY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_END = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_INSIDE = Path("/cliffwatch")
_NO_ANSWER = "the disassembler ended without an answer"
_MOST_NEIGHBOURS = 1000

Digests = Mapping[str, str]
"""Digest by function name. If functions share a name, all but the first have `@` and an ordinal appended."""

Listings = Mapping[str, tuple[int, tuple[str, ...]]]
"""Size in bytes and instructions of functions by name, with names in place of addresses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JitProgram:
    """A BPF program as it was laid out in a guest."""

    start: int
    """Address of its first byte."""
    code: bytes
    neighbours: tuple[tuple[int, int, str], ...]
    """Other code that the JIT had made there: begin, end, name."""


class _Answer(msgspec.Struct, frozen=True):
    """Answer of the process. `odd` says why it has none of the others."""

    digests: dict[str, str] | None = None
    functions: dict[str, tuple[int, tuple[str, ...]]] | None = None
    programs: tuple[tuple[str, ...], ...] | None = None
    odd: str | None = None


def function_digests(
    kernel: Path, cache: Path, sandbox: Sandbox, should_stop: Callable[[], bool] = lambda: False
) -> Digests | Failure:
    """Returns the digests of all functions of a kernel in the cache.

    They come from the cache or are made now, which takes some seconds. Raises Stopped; OSError if the cache
    cannot be written.
    """
    folder = cache / "code" / f"{kernel.name}-{RECIPE}"
    known = _read(folder)
    if known is not None:
        return known
    with hold_lock(cache / "locks" / f"code-{folder.name}", waiting=lambda: None, should_stop=should_stop):
        known = _read(folder)
        if known is not None:
            return known
        answer = _run_listing(kernel, {"functions": None}, sandbox, should_stop)
        if answer.digests is None:
            return _failure(answer)
        with new_entry(folder) as entry:
            (entry / _DIGESTS).write_text(json.dumps(answer.digests))
        return answer.digests


def function_listings(
    kernel: Path, names: Collection[str], sandbox: Sandbox, should_stop: Callable[[], bool] = lambda: False
) -> Listings | Failure:
    """Returns the listings of the named functions that a kernel has. Raises Stopped."""
    answer = _run_listing(kernel, {"functions": sorted(names)}, sandbox, should_stop)
    return _failure(answer) if answer.functions is None else answer.functions


def program_listings(
    kernel: Path,
    programs: Sequence[JitProgram],
    sandbox: Sandbox,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[tuple[str, ...], ...] | Failure:
    """Returns the instructions of BPF programs that a kernel made, in the order of `programs`.

    Raises Stopped.
    """
    asked = [(each.start, each.code.hex(), each.neighbours[:_MOST_NEIGHBOURS]) for each in programs]
    answer = _run_listing(kernel, {"programs": asked}, sandbox, should_stop)
    if answer.programs is None or len(answer.programs) != len(programs):
        return _failure(answer)
    return answer.programs


def _failure(answer: _Answer) -> Failure:
    return host_failed(answer.odd or _NO_ANSWER, MEASURE_ALL)


def _run_listing(
    kernel: Path, request: Mapping[str, object], sandbox: Sandbox, should_stop: Callable[[], bool]
) -> _Answer:
    """Lets the separate process list the kernel.

    Its answer is as untrusted as the kernel and is read within limits.
    """
    packages = [Path(file).parent for file in (cliffwatch_runner.__file__, cliffwatch.__file__)]
    with tempfile.TemporaryDirectory(prefix="cliffwatch-code-") as temporary:
        given, written = Path(temporary) / "given", Path(temporary) / "written"
        for folder in (given, written):
            folder.mkdir()
        Path(temporary).chmod(0o755)
        shown = {"kernel": kernel, "given": given, "written": written}
        inside = {name: _INSIDE / name for name in shown} if sandbox.fixed_paths else shown
        modules = [_INSIDE / "modules"] if sandbox.fixed_paths else [each.parent for each in packages]
        mounts = [Mount(source=folder, target=folder) for folder in guest_programs()]
        mounts += [Mount(source=shown[name], target=inside[name]) for name in ("kernel", "given")]
        mounts += [Mount(source=each, target=_INSIDE / "modules" / each.name) for each in packages]
        mounts += [Mount(source=written, target=inside["written"], writable=True)]
        (given / "request").write_text(json.dumps({"kernel": str(inside["kernel"]), **request}))
        sandbox.give(written)
        python = [sys.executable, "-P", "-m", "cliffwatch_runner.build.code"]
        command = [*python, str(inside["given"] / "request"), str(inside["written"] / "answer")]
        limits = ["prlimit", f"--as={_MEMORY_BYTES}", f"--fsize={_LARGEST_ANSWER}", "--core=0"]
        env = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(HOME),
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(map(str, modules)),
        }
        ended = process.run(
            [*limits, *sandbox.argv(command, env=env, mounts=mounts, workdir=Path("/"))],
            env=sandbox.process_input(),
            deadline=_SECONDS,
            should_stop=should_stop,
        )
        if ended.stopped:
            raise Stopped
        return _read_answer(written) if ended.ok else _Answer(odd=_last_line(ended.output))


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"the disassembler ended: {lines[-1][:200]}" if lines else "the disassembler ended without a word"


def _read_answer(folder: Path) -> _Answer:
    try:
        with os.fdopen(open_below(folder, ["answer"], way=_WAY, end=_END), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileNotFoundError
            return decode(file.read(_LARGEST_ANSWER), _Answer)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Answer(odd="the disassembler's answer cannot be read")


def _read(folder: Path) -> Digests | None:
    with suppress(OSError, ValueError):
        content = json.loads((folder / _DIGESTS).read_text())
        return content if isinstance(content, dict) else None
    return None


def find_differing(base: Digests, head: Digests) -> frozenset[str]:
    """Returns the names of functions that differ between base and head, or that only one of them has."""
    return frozenset(name for name in base.keys() | head.keys() if base.get(name) != head.get(name))
