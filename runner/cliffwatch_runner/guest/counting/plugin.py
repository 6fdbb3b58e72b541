"""Builds the counting plugin once for this host's emulator, and tests that the emulator loads it."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch_runner import process
from cliffwatch_runner.build.cache.entries import hold_lock, new_entry
from cliffwatch_runner.guest.counting.bpf_names import LIST, TABLES
from cliffwatch_runner.guest.counting.kernel_symbols import MARK, TICK, find_address, read_system_map
from cliffwatch_runner.guest.counting.monitor import SOCKET
from cliffwatch_runner.host.programs import parse_version, program_versions

EMULATOR = "qemu-system-x86_64"
PLUGIN = "counts.so"
COUNTS = "counts"
WINDOWS = "windows"
_SOURCE = Path(__file__).parent / "counts.c"
_SECOND_INTERFACE = (9, 0)
"""The QEMU version that replaced the first plugin interface with the second."""

_FLAGS = ("-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_SECONDS = 60.0
_QUIT = r"""printf '{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n' | exec "$@" """


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin that this host's emulator loads."""

    path: Path
    counter: str
    """Emulator and plugin interface, for the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """The instruction counter for the guests of one kernel. Addresses are those of the kernel."""

    plugin: Plugin
    mark: int
    """Address of the function that marks the start of a case (`MARK`)."""

    tick: int
    """Address of the function that runs at each reading (`TICK`)."""

    names: int | None = None
    """Address of the list of BPF code; None if the kernel has none."""

    tables: int | None = None
    """Address of the page tables; None if the kernel has no symbol for them."""

    def option(self, given: Path, to: Path) -> str:
        """Returns the emulator's options.

        `given` is the folder of the plugin's input, `to` that of its output.
        """
        where = f"windows={given / WINDOWS},to={to / COUNTS}"
        plugin = f"-plugin {given / PLUGIN},mark={self.mark:x},tick={self.tick:x},{where}"
        return plugin if self.names is None else f"{plugin} -qmp unix:{to / SOCKET},server=on,wait=off"


_REVISIONS_ARE_COUNTED = "name a revision: kernels that Cliffwatch builds have it"


def make_counting(kernel: Path, plugin: Plugin) -> Counting | Failure:
    """Returns the counter for the guests of the kernel in a folder."""
    symbols = read_system_map(kernel)
    if symbols is None:
        return wrong_usage(
            "it has no System.map, which is needed to map addresses to functions", _REVISIONS_ARE_COUNTED
        )
    mark, tick = find_address(symbols, MARK), find_address(symbols, TICK)
    if mark is None or tick is None:
        absent = MARK if mark is None else TICK
        return wrong_usage(
            f"its System.map has no {absent}, which is needed to tell cases apart", _REVISIONS_ARE_COUNTED
        )
    return Counting(
        plugin=plugin,
        mark=mark,
        tick=tick,
        names=find_address(symbols, LIST),
        tables=find_address(symbols, TABLES),
    )


def counting_plugin(cache: Path, should_stop: Callable[[], bool] = lambda: False) -> Plugin | Failure:
    """Returns the plugin, and builds it if it is not in the cache.

    Raises Stopped, and OSError if the cache cannot be written.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    emulator = program_versions()["qemu"]
    if emulator is None:
        return host_failed(f"{EMULATOR} is not installed", "install QEMU")
    if compiler is None:
        return host_failed("there is no C compiler (gcc) on this host", "install gcc")
    interface = 2 if parse_version(emulator) >= _SECOND_INTERFACE else 1
    source = _SOURCE.read_bytes()
    digest = hashlib.sha256(
        b"\0".join([source, emulator.encode(), *(each.encode() for each in _FLAGS)])
    ).hexdigest()
    folder = cache / "plugins" / digest[:32]
    plugin = Plugin(path=folder / PLUGIN, counter=f"QEMU {emulator}, plugin interface {interface}")
    if plugin.path.exists():
        return plugin
    with hold_lock(cache / "locks" / folder.name, waiting=lambda: None, should_stop=should_stop):
        failed = None if plugin.path.exists() else _build_plugin(compiler, interface, folder)
    return plugin if failed is None else failed


def _build_plugin(compiler: str, interface: int, folder: Path) -> Failure | None:
    """Builds the plugin into its cache entry, if the emulator loads it."""
    with tempfile.TemporaryDirectory(prefix="cliffwatch-plugin-") as temporary:
        made = Path(temporary) / PLUGIN
        argv = [compiler, *_FLAGS, f"-DPLUGIN_INTERFACE={interface}", "-o", str(made), str(_SOURCE)]
        compiled = process.run(argv, deadline=_SECONDS)
        if not compiled.ok:
            return host_failed(
                f"the counting plugin does not compile: {_first_line(compiled.output)}",
                "install the C compiler and headers that `cliffwatch doctor` names",
            )
        tried = _try_plugin(made)
        if tried is not None:
            return tried
        with new_entry(folder) as entry:
            shutil.copy2(made, entry / PLUGIN)
    return None


def _try_plugin(plugin: Path) -> Failure | None:
    """Starts the emulator with the plugin but without a machine."""
    (plugin.parent / WINDOWS).touch()
    given = Counting(plugin=Plugin(path=plugin, counter=""), mark=1, tick=1).option(
        plugin.parent, plugin.parent
    )
    machine = ["-machine", "none", "-accel", "tcg", "-display", "none", "-qmp", "stdio"]
    tried = process.run(["sh", "-c", _QUIT, "sh", EMULATOR, *machine, *given.split()], deadline=_SECONDS)
    if tried.ok:
        return None
    return host_failed(
        f"{EMULATOR} does not load the counting plugin: {_first_line(tried.output)}",
        "install a QEMU that loads TCG plugins",
    )


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith('{"QMP"')]
    return " ".join(lines[0].split())[:300] if lines else "no output"
