"""Finds an image, its configuration and its modules.

They are in an unpacked package, in a folder with the same layout, or side by side. Links below the path that
the user named are not followed: the folder may be an unpacked package.
"""

from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.build.images.bz_image import BzImage, read_bz_image
from cliffwatch_runner.build.outputs import MIB
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile, UntrustedFolder

LARGEST_IMAGE, LARGEST_CONFIG = 128 * MIB, 4 * MIB
MODULE_FOLDERS = ("lib/modules", "usr/lib/modules")
_MOST_NAMES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKernel:
    """An image and the files that belong to it."""

    folders: tuple[UntrustedFolder, ...]
    """Folders to search for its modules."""
    name: str
    """File name of the image."""
    image: bytes
    header: BzImage
    config: bytes | None
    """Configuration beside the image; None if there is none."""


def find_named(path: Path) -> FoundKernel | Failure:
    """Returns the image that the user named, or the only image of a folder."""
    if not path.exists():
        return wrong_usage("there is no such file", "name a package, an image or a folder that has one")
    named = path.resolve()
    if named.is_dir():
        return find_in(UntrustedFolder(named))
    return _found((UntrustedFolder(named.parent), UntrustedFolder(named.parent.parent)), named.name)


def find_in(top: UntrustedFolder) -> FoundKernel | Failure:
    """Returns the only image of a folder with the layout of a package, or with files side by side."""
    images = [name for name in top.names(".", limit=_MOST_NAMES) if name.startswith(("vmlinuz", "bzImage"))]
    images += [f"boot/{name}" for name in top.names("boot", limit=_MOST_NAMES) if name.startswith("vmlinuz")]
    for modules in MODULE_FOLDERS:
        below = [f"{modules}/{release}" for release in top.names(modules, limit=_MOST_NAMES)]
        images += [f"{each}/vmlinuz" for each in below if "vmlinuz" in top.names(each, limit=_MOST_NAMES)]
    if not images:
        return wrong_usage(
            "it holds no kernel image (vmlinuz)",
            "name the package of the image itself; a `-dbg`, a `-headers` or a meta-package has none",
        )
    if len(images) > 1:
        return wrong_usage(
            f"it holds more than one kernel image: {', '.join(images[:8])}", "name one of them"
        )
    return _found((top,), images[0])


def _found(folders: tuple[UntrustedFolder, ...], image: str) -> FoundKernel | Failure:
    content = folders[0].read(image, limit=LARGEST_IMAGE)
    if isinstance(content, UnfitFile):
        return wrong_usage(
            f"its image {image} {content.reason}", "name the image itself, as a user who may read it"
        )
    header = read_bz_image(content)
    if isinstance(header, Failure):
        return header
    config = _config_beside(folders, header.release)
    return FoundKernel(
        folders=folders, name=image.rsplit("/", 1)[-1], image=content, header=header, config=config
    )


def _config_beside(folders: tuple[UntrustedFolder, ...], release: str) -> bytes | None:
    """Returns the configuration from a separate file.

    The plain name `config` counts only beside the image.
    """
    names = [
        f"boot/config-{release}",
        f"config-{release}",
        *(f"{each}/{release}/config" for each in MODULE_FOLDERS),
    ]
    for index, folder in enumerate(folders):
        for name in (*names, "config") if index == 0 else names:
            config = folder.read(name, limit=LARGEST_CONFIG)
            if not isinstance(config, UnfitFile):
                return config
    return None
