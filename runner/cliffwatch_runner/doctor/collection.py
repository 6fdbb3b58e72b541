"""Collects what the maintainers need of a first real host, part by part, and packs it.

A part that fails is left out and named; the others are collected all the same.
"""

import io
import json
import os
import platform
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cliffwatch
from cliffwatch.counting import size_text
from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.samples import DEFAULT_ACCEL, MODES, Accel, Mode
from cliffwatch_runner import process
from cliffwatch_runner.doctor.anonymous import Names, anonymous
from cliffwatch_runner.doctor.examination import as_document, needed_checks
from cliffwatch_runner.doctor.facts import HostFacts
from cliffwatch_runner.host.cpu_lists import parse_cpu_list
from cliffwatch_runner.host.knobs import primary_threads
from cliffwatch_runner.host.lock import host_lock, lock_state
from cliffwatch_runner.host.tuning_rights import tune_as_allowed

Files = Mapping[str, bytes | None]
"""Contents by name within the archive; None if a file is too large."""

_LARGEST_FILE = 32 << 20
_LONGEST_LOG = 64 << 10
_LARGEST_RESULTS = 256 << 20
_TOPOLOGY = ("lscpu", "--extended=CPU,CORE,SOCKET,NODE,CACHE,ONLINE,MAXMHZ")
_FOLDER = "cliffwatch-host"
_MESSAGE = "cliffwatch: "


_NOT_SENT = host_failed(
    f"no text, or larger than {size_text(_LARGEST_FILE)}", "keep it for when it is asked for"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a collection."""

    name: str
    contents: str
    """What it holds, for whoever reads what is sent."""

    make: Callable[[], Files | Failure]


@dataclass(frozen=True, slots=True)
class Collected:
    """The files of parts, and the parts that failed."""

    parts: Sequence[Part]
    files: Mapping[str, Mapping[str, bytes]]
    """By part; not those that failed."""

    left_out: Mapping[str, Failure]
    """By part, or by a file of one: why it is missing."""


def parts_about(facts: HostFacts, accel: Accel) -> Iterator[Part]:
    """Yields the parts that only read the host."""
    yield Part("versions", "Cliffwatch, Python and the programs that a run calls", lambda: _versions(facts))
    yield Part("host", "processor, BIOS, kernel, memory and settings", lambda: _json("host", facts.record))
    yield Part("doctor", "every check, for icount and walltime", lambda: _doctor(facts, accel))
    yield Part("topology", "CPUs, cores, caches and NUMA nodes", _topology)


def tuning_part(facts: HostFacts) -> Part:
    """The part that tunes this host for a moment and restores it."""
    return Part(
        "tuning",
        "settings that were tried and restored, and those that were refused",
        lambda: _tuning(facts),
    )


def results_part(folder: Path, name: str) -> Part:
    """The part that takes a result directory of `cliffwatch run`."""
    return Part(name, "a run: plan, outputs, environments and logs", lambda: _results(folder, name))


def run_part(
    argv: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    seconds: float,
    show: Callable[[str], None],
) -> Part:
    """The part that measures a small run. `show` gets its output as it comes."""

    def make() -> Files | Failure:
        ended = process.run(argv, deadline=seconds, env=env, on_output=show)
        results = _results(folder, "run")
        if not (folder / "run.json").exists():
            return host_failed(
                f"the run ended without results: {_reason(ended)}",
                "try `cliffwatch run` by hand",
                ended.output[-_LONGEST_LOG:],
            )
        log = {"run.log": ended.output.encode()}
        return results if isinstance(results, Failure) else {**results, **log}

    return Part("run", "a small run of a kernel against itself", make)


def _reason(ended: process.Finished) -> str:
    """Returns the last message of a command that failed, without its next step."""
    said = ended.output.strip().splitlines()
    messages = [line.removeprefix(_MESSAGE) for line in said if line.startswith(_MESSAGE)]
    return next(reversed(messages or said), f"status {ended.status}")


def collect(parts: Sequence[Part], names: Names, report: Callable[[str], object]) -> Collected:
    """Makes all parts, without the names of the user and the host. Continues if one fails."""
    files: dict[str, Mapping[str, bytes]] = {}
    left_out: dict[str, Failure] = {}
    for part in parts:
        report(part.name)
        try:
            made = part.make()
        except Exception as error:  # noqa: BLE001 - whatever breaks one part, the others are wanted
            made = host_failed(f"{type(error).__name__}: {error}", "send the rest, and this message")
        if isinstance(made, Failure):
            left_out[part.name] = made
        else:
            texts = {name: content and anonymous(content, names) for name, content in made.items()}
            files[part.name] = {name: text for name, text in texts.items() if text is not None}
            left_out |= {name: _NOT_SENT for name, text in texts.items() if text is None}
    return Collected(parts, files, left_out)


def refuse_places(out: Path, folders: Sequence[Path]) -> Failure | None:
    """Returns why an archive cannot be written, or a folder holds no results. Writes nothing."""
    writable = os.access(out if out.exists() else out.parent, os.W_OK)
    if not writable:
        return wrong_usage(f"{out} cannot be written", "name a file in a folder of yours with --out")
    return next((wrong for folder in folders if (wrong := _no_results(folder)) is not None), None)


def _no_results(folder: Path) -> Failure | None:
    if (folder / "run.json").is_file():
        return None
    return wrong_usage(f"{folder} has no run.json", "name a result directory of `cliffwatch run`")


def pack(collected: Collected, names: Names, out: Path) -> Failure | None:
    """Writes the archive. Its files carry neither owner nor time; `left-out.json` says what is missing."""
    reasons = _encode(
        {name: f"{failure}\n{failure.evidence}".strip() for name, failure in collected.left_out.items()}
    )
    files = {"left-out.json": anonymous(reasons, names) or b""}
    for of_part in collected.files.values():
        files |= of_part
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{_FOLDER}/{name}")
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    try:
        out.write_bytes(packed.getvalue())
    except OSError as error:
        return wrong_usage(f"{out} cannot be written: {error.strerror}", "name another file with --out")
    return None


def _versions(facts: HostFacts) -> Files:
    known = {
        "cliffwatch": cliffwatch.__version__,
        "python": facts.python,
        "system": platform.freedesktop_os_release().get("PRETTY_NAME"),
        "programs": dict(facts.programs),
        "root": os.geteuid() == 0,
    }
    return _json("versions", known)


def _doctor(facts: HostFacts, accel: Accel) -> Files:
    accels: dict[Mode, Accel] = {mode: accel if mode == "walltime" else DEFAULT_ACCEL for mode in MODES}
    return {
        f"doctor-{mode}.json": as_document(needed_checks(facts, of_mode), mode, of_mode).encode()
        for mode, of_mode in accels.items()
    }


def _topology() -> Files | Failure:
    try:
        ended = process.run(_TOPOLOGY, deadline=30)
    except FileNotFoundError:
        return host_failed("lscpu is missing", "install util-linux")
    if not ended.ok:
        return host_failed(f"lscpu failed: {ended.output.strip()[-300:]}", "send the rest")
    return {"topology.txt": ended.output.encode()}


def _tuning(facts: HostFacts) -> Files | Failure:
    if not facts.may_tune:
        return host_failed(
            "this user may not tune", "give the command as root, or install the tuning helper (docs/host.md)"
        )
    if lock_state().locked:
        return host_failed("a run holds this host", "give the command again after it")
    isolated = parse_cpu_list(facts.word("isolation", "isolated") or "")
    cpus = frozenset(isolated or sorted(primary_threads())[1:])
    said: list[str] = []
    what = "cliffwatch host collect"
    with host_lock("walltime", what=what, waiting=said.append, should_stop=lambda: True) as lock:
        if isinstance(lock, Failure):
            return lock
        with tune_as_allowed(cpus, report=said.append) as tuned:
            outcomes = tuned.facts()
    return _json("tuning", {"cpus": sorted(cpus), "outcomes": outcomes, "sentences": said})


def _results(folder: Path, name: str) -> Files | Failure:
    missing = _no_results(folder)
    if missing is not None:
        return missing
    files: dict[str, bytes | None] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            small = path.stat().st_size <= _LARGEST_FILE
            files[f"{name}/{path.relative_to(folder)}"] = path.read_bytes() if small else None
    if sum(len(content or b"") for content in files.values()) > _LARGEST_RESULTS:
        return wrong_usage(f"{folder} has more than 256 MiB", "name a smaller run")
    return files


def _json(name: str, content: object) -> Files:
    return {f"{name}.json": _encode(content)}


def _encode(content: object) -> bytes:
    return (json.dumps(content, indent=2, default=str) + "\n").encode()
