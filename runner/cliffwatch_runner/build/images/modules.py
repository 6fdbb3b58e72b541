"""The modules that a guest needs before it has its root: taken one by one, each after those that it needs itself."""

from collections.abc import Sequence

from cliffwatch_runner.build.images.finding import MODULE_FOLDERS, FoundKernel
from cliffwatch_runner.build.images.initramfs import dependencies, modules_of
from cliffwatch_runner.build.images.refused import refused, said
from cliffwatch_runner.build.images.workshop import Workshop
from cliffwatch_runner.build.outputs import MIB
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile, UntrustedFolder

_LARGEST_LIST, _LARGEST_MODULE = 4 * MIB, 64 * MIB
_MOST_MODULES = 64
_COMPRESSIONS = {"": "none", ".xz": "xz", ".zst": "zstd", ".gz": "gzip"}
"""By what a module's file is called after `.ko`."""


def take_modules(workshop: Workshop, found: FoundKernel, names: Sequence[str]) -> dict[str, bytes]:
    """These modules and those that they need, in the order in which they can be loaded. Raises Refused."""
    if not names:
        return {}
    folder, below = _folder_of(found, names)
    taking = _Taking(workshop, folder, below)
    for name in names:
        taking.take(name, ())
    return taking.taken


def _folder_of(found: FoundKernel, names: Sequence[str]) -> tuple[UntrustedFolder, str]:
    """The folder of the kernel's modules: one that has their list."""
    release = found.header.release
    for folder in found.folders:
        for below in (*(f"{each}/{release}" for each in MODULE_FOLDERS), "."):
            if not isinstance(folder.read(f"{below}/modules.order", limit=_LARGEST_LIST), UnfitFile):
                return folder, below
    raise refused(
        f"its drivers are modules ({', '.join(names)}), and there is no lib/modules/{release}/modules.order beside it",
        "name the package, or a folder that has boot/ and lib/modules/ as the package has them",
    )


class _Taking:
    def __init__(self, workshop: Workshop, folder: UntrustedFolder, below: str) -> None:
        self.taken: dict[str, bytes] = {}
        self._workshop = workshop
        self._folder = folder
        self._below = below
        self._listed = self._list("modules.order")
        self._built_in = self._list("modules.builtin")

    def _list(self, name: str) -> dict[str, str]:
        listing = self._folder.read(f"{self._below}/{name}", limit=_LARGEST_LIST)
        return {} if isinstance(listing, UnfitFile) else modules_of(listing.decode(errors="replace"))

    def take(self, name: str, wanted_by: tuple[str, ...]) -> None:
        if name in self.taken or name in wanted_by or name in self._built_in:
            return
        if len(self.taken) + len(wanted_by) >= _MOST_MODULES:
            raise refused(f"its drivers need more than {_MOST_MODULES} modules", "take another kernel")
        content = self._content(name)
        for needed in dependencies(content):
            self.take(needed, (*wanted_by, name))
        self.taken[name] = content

    def _content(self, name: str) -> bytes:
        path = self._listed.get(name)
        reason = "is not in its list of modules"
        for suffix in _COMPRESSIONS if path is not None else ():
            packed = self._folder.read(f"{self._below}/{path}{suffix}", limit=_LARGEST_MODULE)
            if isinstance(packed, bytes):
                return self._decompressed(name, packed, suffix)
            if reason in ("is not in its list of modules", "is not there"):
                reason = packed.reason
        raise refused(
            f"its module {name}, without which no guest of ours boots, {reason}",
            "name a package or folder with all its modules (some distributions have a second package of them)",
        )

    def _decompressed(self, name: str, packed: bytes, suffix: str) -> bytes:
        given = self._workshop.give("module", packed)
        failure = self._workshop.decompress(_COMPRESSIONS[suffix], given, f"modules/{name}.ko")
        if failure is not None:
            raise said(failure, f"its module {name} does not decompress", "fetch the package once more")
        content = self._workshop.output.read(f"modules/{name}.ko", limit=_LARGEST_MODULE)
        if isinstance(content, UnfitFile):
            raise refused(f"its module {name} {content.reason}", "take another kernel")
        return content
