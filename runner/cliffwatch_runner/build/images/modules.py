"""Collects the modules that a guest needs before it can mount its root.

Each module comes after its dependencies.
"""

from collections.abc import Mapping, Sequence

from cliffwatch_runner.build.images.finding import MODULE_FOLDERS, FoundKernel
from cliffwatch_runner.build.images.initramfs import dependencies, modules_of
from cliffwatch_runner.build.images.refused import make_refusal, restate_failure
from cliffwatch_runner.build.images.workshop import Packed, Workshop
from cliffwatch_runner.build.outputs import MIB
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile, UntrustedFolder

_LARGEST_LIST, _LARGEST_MODULE = 4 * MIB, 64 * MIB
_MOST_MODULES = 64
_COMPRESSIONS = {"": "none", ".xz": "xz", ".zst": "zstd", ".gz": "gzip"}
"""By the suffix of a module's file name after `.ko`."""


def take_modules(workshop: Workshop, found: FoundKernel, names: Sequence[str]) -> dict[str, bytes]:
    """Returns these modules and their dependencies in loading order. Raises Refused."""
    if not names:
        return {}
    modules = _Modules(workshop, *_folder_of(found, names))
    contents: dict[str, bytes] = {}
    wanted = list(names)
    while wanted:
        if len(contents) + len(wanted) > _MOST_MODULES:
            raise make_refusal(f"its drivers need more than {_MOST_MODULES} modules", "take another kernel")
        contents |= modules.contents(wanted)
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


def _folder_of(found: FoundKernel, names: Sequence[str]) -> tuple[UntrustedFolder, str]:
    """Returns the folder of the kernel's modules: the one that has their list."""
    release = found.header.release
    for folder in found.folders:
        for below in (*(f"{each}/{release}" for each in MODULE_FOLDERS), "."):
            if not isinstance(folder.read(f"{below}/modules.order", limit=_LARGEST_LIST), UnfitFile):
                return folder, below
    raise make_refusal(
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

    def contents(self, names: Sequence[str]) -> dict[str, bytes]:
        """Returns modules by name, decompressed. Raises Refused."""
        failure = self._workshop.decompress({f"{name}.ko": self._packed(name) for name in names})
        if failure is not None:
            raise restate_failure(failure, "its modules do not decompress", "fetch the package once more")
        return {name: self._decompressed(name) for name in names}

    def _packed(self, name: str) -> Packed:
        path = self._listed.get(name)
        reason = "is not in its list of modules" if path is None else "is not there"
        for suffix, compression in _COMPRESSIONS.items() if path is not None else ():
            content = self._folder.read(f"{self._below}/{path}{suffix}", limit=_LARGEST_MODULE)
            if isinstance(content, bytes):
                return Packed(compression, content)
            if content.reason != "is not there":
                reason = content.reason
        raise make_refusal(
            f"its module {name}, without which no guest of ours boots, {reason}",
            "name a package or folder with all its modules (some distributions have a second package of"
            " them)",
        )

    def _decompressed(self, name: str) -> bytes:
        content = self._workshop.output.read(f"{name}.ko", limit=_LARGEST_MODULE)
        if isinstance(content, UnfitFile):
            raise make_refusal(f"its module {name} {content.reason}", "take another kernel")
        return content
