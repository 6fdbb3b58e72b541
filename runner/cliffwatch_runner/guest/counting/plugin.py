"""The plugin that counts: built once for this host's emulator, and tried on it before a guest is started with
it.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_runner import process
from cliffwatch_runner.build.cache.entries import locked, new_entry
from cliffwatch_runner.guest.counting.bpf_names import LIST, TABLES
from cliffwatch_runner.guest.counting.kernel_symbols import MARK, TICK, find_address, read_system_map
from cliffwatch_runner.guest.counting.monitor import SOCKET
from cliffwatch_runner.host.programs import parse_version, program_versions

EMULATOR = "qemu-system-x86_64"
PLUGIN = "counts.so"
COUNTS = "counts"
WINDOWS = "windows"
_SECOND_INTERFACE = (9, 0)
"""The QEMU that took the first interface away and brought the second."""

_FLAGS = ("-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_SECONDS = 60.0
_QUIT = r"""printf '{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n' | exec "$@" """


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin that this host's emulator loads; `counter` says what counts, for the record."""

    path: Path
    counter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """What counts in the guests of one kernel: the plugin, the addresses of the two functions by which it
    knows when, of the list of BPF code and of the page tables; None of a kernel that has none.
    """

    plugin: Plugin
    mark: int
    tick: int
    names: int | None = None
    tables: int | None = None

    def option(self, given: Path, to: Path) -> str:
        """The emulator's options, with the folders of what it is given and of what it writes."""
        where = f"windows={given / WINDOWS},to={to / COUNTS}"
        plugin = f"-plugin {given / PLUGIN},mark={self.mark:x},tick={self.tick:x},{where}"
        return plugin if self.names is None else f"{plugin} -qmp unix:{to / SOCKET},server=on,wait=off"


def make_counting(kernel: Path, plugin: Plugin) -> Counting | str:
    """How the guests of the kernel in a folder are counted, or why they cannot be."""
    symbols = read_system_map(kernel)
    if symbols is None:
        return "it came without a System.map, by which addresses become functions"
    mark, tick = find_address(symbols, MARK), find_address(symbols, TICK)
    if mark is None or tick is None:
        return f"its System.map has no {MARK if mark is None else TICK}, by which cases are distinguished"
    return Counting(
        plugin=plugin,
        mark=mark,
        tick=tick,
        names=find_address(symbols, LIST),
        tables=find_address(symbols, TABLES),
    )


def counting_plugin(cache: Path, should_stop: Callable[[], bool] = lambda: False) -> Plugin | str:
    """The plugin from the cache or built now, or why this host has none. Raises Stopped, OSError where the
    cache cannot be written.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    emulator = program_versions()["qemu"]
    if emulator is None:
        return f"{EMULATOR} is not installed"
    if compiler is None:
        return "there is no C compiler (gcc) on this host"
    interface = 2 if parse_version(emulator) >= _SECOND_INTERFACE else 1
    source = (Path(__file__).parent / "counts.c").read_bytes()
    digest = hashlib.sha256(
        b"\0".join([source, emulator.encode(), *(each.encode() for each in _FLAGS)])
    ).hexdigest()
    folder = cache / "plugins" / digest[:32]
    plugin = Plugin(path=folder / PLUGIN, counter=f"QEMU {emulator}, plugin interface {interface}")
    if plugin.path.exists():
        return plugin
    with locked(cache / "locks" / folder.name, waiting=lambda: None, should_stop=should_stop):
        failed = None if plugin.path.exists() else _build_plugin(compiler, interface, folder)
    return plugin if failed is None else failed


def _build_plugin(compiler: str, interface: int, folder: Path) -> str | None:
    """Builds the plugin into its entry, or says why there is none; one that the emulator does not load is no
    entry.
    """
    source = Path(__file__).parent / "counts.c"
    with tempfile.TemporaryDirectory(prefix="cliffwatch-plugin-") as temporary:
        made = Path(temporary) / PLUGIN
        argv = [compiler, *_FLAGS, f"-DPLUGIN_INTERFACE={interface}", "-o", str(made), str(source)]
        compiled = process.run(argv, deadline=_SECONDS)
        if not compiled.ok:
            return f"the counting plugin does not compile: {_first_line(compiled.output)}"
        tried = _try_plugin(made)
        if tried is not None:
            return tried
        with new_entry(folder) as entry:
            shutil.copy2(made, entry / PLUGIN)
    return None


def _try_plugin(plugin: Path) -> str | None:
    """Starts the emulator with the plugin and without a machine, and ends it: why it does not
    load it, if so.
    """
    (plugin.parent / WINDOWS).touch()
    given = Counting(plugin=Plugin(path=plugin, counter=""), mark=1, tick=1).option(
        plugin.parent, plugin.parent
    )
    machine = ["-machine", "none", "-accel", "tcg", "-display", "none", "-qmp", "stdio"]
    tried = process.run(["sh", "-c", _QUIT, "sh", EMULATOR, *machine, *given.split()], deadline=_SECONDS)
    return None if tried.ok else f"{EMULATOR} does not load the counting plugin: {_first_line(tried.output)}"


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith('{"QMP"')]
    return " ".join(lines[0].split())[:300] if lines else "it said nothing"
