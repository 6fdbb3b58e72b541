"""Builds the initramfs of a kernel whose drivers are modules.

It has our init (guest/initramfs_init.c) and the modules in loading order. virtme-ng could build it too, but
would use the host's modules and its busybox at every boot.
"""

import io
import re
import stat
from collections.abc import Mapping
from pathlib import PurePosixPath

_DEPENDS = re.compile(rb"\0depends=([\w,-]*)\0")
_PATH = re.compile(r"[\w.+@/-]{1,300}\.ko")
_MOST_MODULES = 64
_LONGEST_NAME = 55
"""The kernel accepts no module with a longer name."""

_CONSOLE = (5, 1)


def module_name(path: str) -> str:
    """Returns a module's name. Its file name may have dashes where the name has underscores."""
    return PurePosixPath(path).name.removesuffix(".ko").replace("-", "_")


def modules_of(listing: str) -> dict[str, str]:
    """Returns names and paths of the modules in a `modules.order` or `modules.builtin`.

    Other lines are skipped. Total.
    """
    paths = (line.strip() for line in listing.splitlines())
    modules = ((module_name(path), path) for path in paths if _PATH.fullmatch(path) and _below(path))
    return {name: path for name, path in modules if len(name) <= _LONGEST_NAME}


def _below(path: str) -> bool:
    parts = path.split("/")
    return not {"", ".", ".."} & set(parts)


def dependencies(module: bytes) -> tuple[str, ...]:
    """Returns the modules that a module (an ELF file) declares as dependencies. Total."""
    match = _DEPENDS.search(module)
    names = match[1].decode().split(",") if match else []
    return tuple(name.replace("-", "_") for name in names if name)[:_MOST_MODULES]


def initramfs(init: bytes, modules: Mapping[str, bytes]) -> bytes:
    """Returns a cpio archive ("newc"). `modules` are in loading order."""
    archive = _Archive()
    for folder in ("dev", "proc", "root", "modules"):
        archive.add(folder, stat.S_IFDIR | 0o755)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=_CONSOLE)
    archive.add("init", stat.S_IFREG | 0o755, init)
    archive.add(
        "modules/order", stat.S_IFREG | 0o644, "".join(f"/modules/{name}.ko\n" for name in modules).encode()
    )
    for name, content in modules.items():
        archive.add(f"modules/{name}.ko", stat.S_IFREG | 0o644, content)
    return archive.end()


class _Archive:
    """Files of root without times, so that equal files make equal archives."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        self._count = 0

    def add(self, name: str, mode: int, content: bytes = b"", *, device: tuple[int, int] = (0, 0)) -> None:
        self._count += 1
        links = 2 if stat.S_ISDIR(mode) else 1
        encoded = name.encode() + b"\0"
        numbers = (self._count, mode, 0, 0, links, 0, len(content), 0, 0, *device, len(encoded), 0)
        self._write(b"070701" + b"".join(b"%08x" % number for number in numbers) + encoded)
        self._write(content)

    def end(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return self._bytes.getvalue()

    def _write(self, content: bytes) -> None:
        self._bytes.write(content)
        self._bytes.write(b"\0" * (-self._bytes.tell() % 4))
