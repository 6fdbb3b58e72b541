"""Collects the modules that a guest needs before it can mount its root.

Each module comes after its dependencies.
"""

from collections.abc import Mapping, Sequence

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.build.images.finding import MODULE_FOLDERS, FoundKernel
from cliffwatch_runner.build.images.initramfs import dependencies, modules_of
from cliffwatch_runner.build.images.workshop import Packed, Workshop, restate_failure
from cliffwatch_runner.build.outputs import MIB
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile, UntrustedFolder

_LARGEST_LIST, _LARGEST_MODULE = 4 * MIB, 64 * MIB
_MOST_MODULES = 64
_COMPRESSIONS = {"": "none", ".xz": "xz", ".zst": "zstd", ".gz": "gzip"}
"""By the suffix of a module's file name after `.ko`."""


def take_modules(workshop: Workshop, found: FoundKernel, names: Sequence[str]) -> dict[str, bytes] | Failure:
    """Returns these modules and their dependencies in loading order."""
    if not names:
        return {}
    folder = _folder_of(found, names)
    if isinstance(folder, Failure):
        return folder
    modules = _Modules(workshop, *folder)
    contents: dict[str, bytes] = {}
    wanted = list(names)
    while wanted:
        if len(contents) + len(wanted) > _MOST_MODULES:
            return wrong_usage(f"its drivers need more than {_MOST_MODULES} modules", "take another kernel")
        more = modules.contents(wanted)
        if isinstance(more, Failure):
            return more
        contents |= more
        needed = dict.fromkeys(each for content in contents.values() for each in dependencies(content))
        wanted = [name for name in needed if name not in contents and name not in modules.built_in]
    return _in_order(contents, names)


def _in_order(contents: Mapping[str, bytes], names: Sequence[str]) -> dict[str, bytes]:
    """Orders modules after their dependencies.

    Circular dependencies, which no kernel has, get an arbitrary order.
    """
    ordered: dict[str, bytes] = {}

    def add(name: str, wanted_by: tuple[str, ...]) -> None:
        if name in ordered or name in wanted_by or name not in contents:
            return
        for needed in dependencies(contents[name]):
            add(needed, (*wanted_by, name))
        ordered[name] = contents[name]

    for name in names:
        add(name, ())
    return ordered


def _folder_of(found: FoundKernel, names: Sequence[str]) -> tuple[UntrustedFolder, str] | Failure:
    """Returns the folder of the kernel's modules: the one that has their list."""
    release = found.header.release
    for folder in found.folders:
        for below in (*(f"{each}/{release}" for each in MODULE_FOLDERS), "."):
            if not isinstance(folder.read(f"{below}/modules.order", limit=_LARGEST_LIST), UnfitFile):
                return folder, below
    return wrong_usage(
        f"its drivers are modules ({', '.join(names)}), and there is no lib/modules/{release}/modules.order"
        " beside it",
        "name the package, or a folder that has boot/ and lib/modules/ as the package has them",
    )


class _Modules:
    def __init__(self, workshop: Workshop, folder: UntrustedFolder, below: str) -> None:
        self._workshop = workshop
        self._folder = folder
        self._below = below
        self._listed = self._list("modules.order")
        self.built_in = self._list("modules.builtin")

    def _list(self, name: str) -> dict[str, str]:
        listing = self._folder.read(f"{self._below}/{name}", limit=_LARGEST_LIST)
        return {} if isinstance(listing, UnfitFile) else modules_of(listing.decode(errors="replace"))

    def contents(self, names: Sequence[str]) -> dict[str, bytes] | Failure:
        """Returns modules by name, decompressed."""
        packed: dict[str, Packed] = {}
        for name in names:
            found = self._packed(name)
            if isinstance(found, Failure):
                return found
            packed[f"{name}.ko"] = found
        failure = self._workshop.decompress(packed)
        if failure is not None:
            return restate_failure(failure, "its modules do not decompress", "fetch the package once more")
        contents: dict[str, bytes] = {}
        for name in names:
            content = self._workshop.output.read(f"{name}.ko", limit=_LARGEST_MODULE)
            if isinstance(content, UnfitFile):
                return wrong_usage(f"its module {name} {content.reason}", "take another kernel")
            contents[name] = content
        return contents

    def _packed(self, name: str) -> Packed | Failure:
        path = self._listed.get(name)
        reason = "is not in its list of modules" if path is None else "is not there"
        for suffix, compression in _COMPRESSIONS.items() if path is not None else ():
            content = self._folder.read(f"{self._below}/{path}{suffix}", limit=_LARGEST_MODULE)
            if isinstance(content, bytes):
                return Packed(compression, content)
            if content.reason != "is not there":
                reason = content.reason
        return wrong_usage(
            f"its module {name}, without which no guest of ours boots, {reason}",
            "name a package or folder with all its modules (some distributions have a second package of"
            " them)",
        )
