"""Everything that the doctor judges by, gathered once; the judging is pure."""

import os
import platform
import pwd
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
from cliffwatch_runner.sandbox.namespaces import NamespaceRefusal, bubblewrap_refusal

_HEADERS = {
    "libelf": ("usr/include/libelf.h",),
    "libssl": ("usr/include/openssl/ssl.h",),
    "zlib": ("usr/include/zlib.h",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The facts of one host.

    `record` is what `host_record` gives; `programs` what `program_versions` gives. `refusal` says why bubblewrap makes no
    namespaces, null where it does. `may_tune`: this user can write /sys, or may have it done by the tuning helper.
    `cache_runs_programs`: its file system is not mounted noexec.
    `leftover` is the journal of a run that was killed (a clause where it cannot be read); the journal of a run that still
    lives is none. `counting` says why instructions cannot be counted by function, null where they can.
    """

    record: Mapping[str, object]
    programs: Mapping[str, str | None]
    python: str
    llvms: tuple[Llvm, ...]
    virtme_run: str | None
    udev: str | None
    missing_headers: tuple[str, ...]
    refusal: NamespaceRefusal | None
    cache: str
    cache_free_bytes: int | None
    cache_runs_programs: bool
    kvm: KvmProbe
    user: str
    may_tune: bool
    may_hold_latency: bool
    irqbalance: bool
    nmi_watchdog: str | None
    leftover: Journal | str | None
    lock: LockState
    counting: str | None = None

    def at(self, *keys: str) -> object:
        """One value of the record; null where the record has none."""
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


def _no_counting() -> str | None:
    """Builds the plugin and has the emulator load it, as the first run would."""
    with tempfile.TemporaryDirectory(prefix="cliffwatch-doctor-") as folder:
        plugin = counting_plugin(Path(folder))
    return plugin if isinstance(plugin, str) else None


def gather(cache: Path, *, root: Path = Path("/"), journal: Path = JOURNAL) -> HostFacts:
    """Looks at this host: reads files, asks programs for their versions and runs a probe guest under KVM.

    Takes some seconds. `cache` need not exist; its file system is what counts.
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
        counting=_no_counting(),
    )


def missing_headers(root: Path) -> tuple[str, ...]:
    return tuple(
        name for name, paths in _HEADERS.items() if not any((root / path).exists() for path in paths)
    )


def _named(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _user() -> str:
    """As sudoers names him."""
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
    """The folder, or the next one above it that is there."""
    return next((path for path in (folder, *folder.absolute().parents) if os.path.exists(path)), None)  # noqa: PTH110 - false for a folder that may not be looked into, without raising


def _leftover(journal: Path) -> Journal | str | None:
    left = read_journal(journal)
    running = isinstance(left, Journal) and Path(f"/proc/{left.pid}").exists()
    return None if running else left
