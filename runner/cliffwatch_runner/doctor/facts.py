"""Gathers everything that the doctor's checks use, once. The checks themselves are pure functions."""

import os
import platform
import pwd
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner.build.toolchain import PLAIN_TOOLS, ToolChoice, find_toolchain
from cliffwatch_runner.guest.counting.plugin import counting_plugin
from cliffwatch_runner.host.facts import host_record, read_word
from cliffwatch_runner.host.journal import JOURNAL, Journal, Systemctl, read_journal
from cliffwatch_runner.host.knobs import LATENCY_DEVICE
from cliffwatch_runner.host.kvm_probe import KvmProbe, kvm_usable
from cliffwatch_runner.host.lock import LockState, lock_state
from cliffwatch_runner.host.programs import (
    Llvm,
    find_udev,
    find_virtme_run,
    installed_llvms,
    program_versions,
)
from cliffwatch_runner.host.tuning_rights import helper_allowed
from cliffwatch_runner.plan.writable_folders import runs_programs
from cliffwatch_runner.sandbox.isolation import choose_sandbox
from cliffwatch_runner.sandbox.namespaces import NamespaceRefusal, bubblewrap_refusal
from cliffwatch_runner.sandbox.programs import show_programs

_HEADERS = {
    "libelf": ("usr/include/libelf.h",),
    "libssl": ("usr/include/openssl/ssl.h",),
    "zlib": ("usr/include/zlib.h",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The facts of one host."""

    record: Mapping[str, object]
    """From `host_record`."""

    programs: Mapping[str, str | None]
    """Version by program, from `program_versions`."""

    python: str
    llvms: tuple[Llvm, ...]
    virtme_run: str | None
    udev: str | None
    missing_headers: tuple[str, ...]
    refusal: NamespaceRefusal | None
    """Why bubblewrap cannot create namespaces; None if it can."""

    cache: str
    cache_free_bytes: int | None
    """None if the cache is on no file system."""

    cache_runs_programs: bool
    """False if its file system is mounted noexec."""

    kvm: KvmProbe
    user: str
    may_tune: bool
    """True if this user can write /sys, or can have the tuning helper do it."""

    may_hold_latency: bool
    irqbalance: bool
    nmi_watchdog: str | None
    leftover: Journal | Failure | None
    """Journal of a run that was killed, or why it cannot be read; None if there is none, or its run lives."""

    lock: LockState
    counting: Failure | None = None
    """Why instructions cannot be counted by function; None if they can."""

    unseen: Failure | None = None
    """Which tool of a build does not start in the sandbox; None if all do, or none was tried."""

    def at(self, *keys: str) -> object:
        """Returns one value of the record; None if it is missing."""
        value: object = self.record
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def number(self, *keys: str) -> int | None:
        value = self.at(*keys)
        return value if isinstance(value, int) else None

    def word(self, *keys: str) -> str | None:
        value = self.at(*keys)
        return value if isinstance(value, str) else None

    def words(self, *keys: str) -> tuple[str, ...]:
        value = self.at(*keys)
        return tuple(map(str, value)) if isinstance(value, list) else ()


def _try_counting() -> Failure | None:
    """Builds the plugin and loads it into the emulator, as the first run would."""
    with tempfile.TemporaryDirectory(prefix="cliffwatch-doctor-") as folder:
        plugin = counting_plugin(Path(folder))
    return plugin if isinstance(plugin, Failure) else None


def _try_programs() -> Failure | None:
    """Starts the tools that a run would choose in its sandbox. Returns None if one is missing."""
    toolchain = find_toolchain(ToolChoice(cc=None, clang=None, pahole=None, build_image=None))
    sandbox = choose_sandbox("auto", None)
    if isinstance(toolchain, tuple) or isinstance(sandbox, Failure):
        return None
    shown = show_programs(sandbox, [tool.program for tool in toolchain.tools], PLAIN_TOOLS)
    return shown if isinstance(shown, Failure) else None


def gather_facts(cache: Path, *, root: Path = Path("/"), journal: Path = JOURNAL) -> HostFacts:
    """Examines this host: reads files, asks programs for their versions and boots a probe guest under KVM.

    Takes a few seconds. `cache` need not exist: only its file system matters.
    """
    may_tune = os.geteuid() == 0 or helper_allowed()
    return HostFacts(
        record=host_record(root),
        programs=program_versions(),
        python=platform.python_version(),
        llvms=installed_llvms(),
        virtme_run=_named(find_virtme_run()),
        udev=_named(find_udev(root)),
        missing_headers=missing_headers(root),
        refusal=bubblewrap_refusal(root),
        unseen=_try_programs(),
        cache=str(cache),
        cache_free_bytes=_free_bytes(cache),
        cache_runs_programs=_runs_programs(cache),
        kvm=kvm_usable(),
        user=_user(),
        may_tune=may_tune,
        may_hold_latency=may_tune or os.access(root / LATENCY_DEVICE, os.W_OK),
        irqbalance=Systemctl().active("irqbalance"),
        nmi_watchdog=read_word(root / "proc/sys/kernel/nmi_watchdog"),
        leftover=_leftover(journal),
        lock=lock_state(),
        counting=_try_counting(),
    )


def missing_headers(root: Path) -> tuple[str, ...]:
    return tuple(
        name for name, paths in _HEADERS.items() if not any((root / path).exists() for path in paths)
    )


def _named(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _user() -> str:
    """Returns the user as sudoers names it."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"#{os.geteuid()}"


def _free_bytes(folder: Path) -> int | None:
    existing = _existing(folder)
    return None if existing is None else shutil.disk_usage(existing).free


def _runs_programs(folder: Path) -> bool:
    existing = _existing(folder)
    return existing is None or runs_programs(existing)


def _existing(folder: Path) -> Path | None:
    """Returns the folder or its nearest existing parent."""
    candidates = (folder, *folder.absolute().parents)
    # Unlike Path.exists, os.path.exists does not raise for a folder that this user may not search.
    return next((path for path in candidates if os.path.exists(path)), None)  # noqa: PTH110


def _leftover(journal: Path) -> Journal | Failure | None:
    left = read_journal(journal)
    running = isinstance(left, Journal) and Path(f"/proc/{left.pid}").exists()
    return None if running else left
