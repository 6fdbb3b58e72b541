"""Kernels built elsewhere: a distribution's package, an image with its configuration, or a folder with both.

A package is untrusted input: it is unpacked and decompressed in the sandbox. The host copies only named files
of limited size out of it and follows no links (cliffwatch_runner.sandbox.untrusted_files).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.formats.reading import document_text
from cliffwatch_runner.build.cache.entries import new_entry
from cliffwatch_runner.build.images.bz_image import BzImage
from cliffwatch_runner.build.images.config import (
    modules_wanted,
    refuse_config,
    refuse_without_btf,
    stated_differences,
)
from cliffwatch_runner.build.images.finding import LARGEST_CONFIG, FoundKernel, find_in, find_named
from cliffwatch_runner.build.images.initramfs import initramfs
from cliffwatch_runner.build.images.modules import take_modules
from cliffwatch_runner.build.images.workshop import Packed, Workshop, restate_failure, workshop
from cliffwatch_runner.build.kernel import INITRAMFS, RECORD, Kernel, KernelRecord, cached_kernel, trust_names
from cliffwatch_runner.build.kernel_config import parse_config
from cliffwatch_runner.build.outputs import MIB
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile

_RECIPE = "1"
"""Increase it when a change to the import changes its result."""

_LARGEST_PACKAGE, _LARGEST_BTF, _LARGEST_INIT = 4096 * MIB, 128 * MIB, 1 * MIB
_UNPACKED = "unpacked"

_LOOK_INTO = """
rm -rf -- "$1/config" "$1/btf" || exit
at=$(LC_ALL=C grep -abo -m 1 IKCFG_ST "$1/vmlinux" | head -n 1 | cut -d : -f 1)
[ -z "$at" ] || tail -c "+$((at + 9))" "$1/vmlinux" | gzip -dcq > "$1/config"
objcopy --dump-section ".BTF=$1/btf" "$1/vmlinux" /dev/null
exit 0
"""
"""Extracts the configuration that CONFIG_IKCONFIG embeds, gzipped between two marks, and the BTF types."""

_COMPILE = (
    *("env", "CCACHE_DISABLE=1", "gcc", "-O2", "-Wall", "-static", "-nostdlib", "-ffreestanding"),
    *("-fno-stack-protector", "-fno-tree-loop-distribute-patterns"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The parts of a kernel that go into the cache."""

    image: bytes
    config: bytes
    btf: bytes
    initramfs: bytes | None
    record: KernelRecord


def prebuilt_kernel(path: Path, settings: BuildSettings) -> Kernel | Failure:
    """Returns a kernel built elsewhere.

    `path` is a package (.deb), an image beside its configuration, or a folder with both.

    It comes from the cache, by a digest of its content, or is imported now. A Failure says why it cannot be
    measured: no BTF, a debug configuration, or missing drivers. Raises Stopped if the user asked to stop,
    OSError if the cache cannot be written.
    """
    kernel = _find_kernel(path, settings)
    if isinstance(kernel, Failure):
        return replace(kernel, message=f"{path.name or path}: {kernel.message}")
    return kernel


def _find_kernel(path: Path, settings: BuildSettings) -> Kernel | Failure:
    is_package = _is_package(path)
    if isinstance(is_package, Failure):
        return is_package
    found = None if is_package else find_named(path)
    return found if isinstance(found, Failure) else _kernel(path, found, settings)


def _is_package(path: Path) -> bool | Failure:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            archive = file.read(8) == b"!<arch>\n"
    except PermissionError:
        return wrong_usage("you may not read it", "give yourself a copy that you may read")
    if archive and path.stat().st_size > _LARGEST_PACKAGE:
        return wrong_usage(
            "it is larger than any kernel's package", "name the package of the kernel image alone"
        )
    return archive


def _kernel(path: Path, found: FoundKernel | None, settings: BuildSettings) -> Kernel | Failure:
    digest = _digest(path, found, settings)
    folder = settings.built / "kernels" / digest
    kernel = cached_kernel(folder, settings)
    if kernel is not None:
        return kernel
    with settings.hold_lock(digest, "kernel"):
        kernel = cached_kernel(folder, settings)
        if kernel is not None:
            return kernel
        with workshop(settings) as shop:
            image = found or _unpack(shop, path)
            parts = image if isinstance(image, Failure) else _import_parts(shop, image)
        if isinstance(parts, Failure):
            return parts
        _store(folder, parts)
    kernel = cached_kernel(folder, settings, was_there=False)
    assert kernel is not None
    return kernel


def _digest(path: Path, found: FoundKernel | None, settings: BuildSettings) -> str:
    """Returns the name of the cache entry.

    It depends on the bytes of a package. For an image it depends on the image and its configuration: an image
    only loads modules that were built with it.
    """
    content = hashlib.sha256()
    if found is None:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256")
    else:
        content.update(hashlib.sha256(found.image).digest() + hashlib.sha256(found.config or b"").digest())
    parts = (_RECIPE, _own_init(), content.hexdigest(), *trust_names(settings.trust))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _own_init() -> str:
    return (files("cliffwatch_runner.guest") / "initramfs_init.c").read_text()


def _unpack(shop: Workshop, package: Path) -> FoundKernel | Failure:
    shop.settings.report_progress(None, f"unpacking {package.name}")
    failure = shop.unpack_package(shop.give("package", package), _UNPACKED)
    if failure is not None:
        return restate_failure(
            failure, "it does not unpack", "fetch it once more, and see that it is a Debian package (.deb)"
        )
    return find_in(shop.output.below(_UNPACKED))


def _import_parts(shop: Workshop, found: FoundKernel) -> _Parts | Failure:
    """Returns all parts of the kernel, or why it cannot be measured, as soon as that is clear."""
    release = found.header.release
    config = _extract_config(shop, found)
    if isinstance(config, Failure):
        return config
    values = _values(config)
    btf = refuse_config(values) or _types(shop)
    if isinstance(btf, Failure):
        return btf
    shop.settings.report_progress(None, f"modules of {release}")
    modules = take_modules(shop, found, modules_wanted(values))
    if isinstance(modules, Failure):
        return modules
    init = _compiled_init(shop) if modules else None
    if isinstance(init, Failure):
        return init
    loaded = (f"drivers from an initial file system: {', '.join(modules)}",) if modules else ()
    shows = values.get("CONFIG_IKCONFIG_PROC") == "y"
    whence = () if shows else ("its configuration is the package's, as the kernel itself shows none",)
    return _Parts(
        image=found.image,
        config=config,
        btf=btf,
        initramfs=None if init is None else initramfs(init, modules),
        record=KernelRecord(
            release=release,
            notes=(f"prebuilt: {found.name}", *whence, *loaded, *stated_differences(values)),
            config_digest=hashlib.sha256(config).hexdigest(),
            seconds=0.0,
            prebuilt=True,
            shows_config=shows,
        ),
    )


def _extract_config(shop: Workshop, found: FoundKernel) -> bytes | Failure:
    """Returns the kernel's configuration, after its content was extracted.

    A configuration beside the image is checked first: it may spare the work.
    """
    release = found.header.release
    failure = None if found.config is None else refuse_config(_values(found.config))
    if failure is None:
        shop.settings.report_progress(None, f"types of {release}")
        failure = _extract_content(shop, found.header)
    if failure is not None:
        return failure
    return (
        _config_inside(shop)
        or found.config
        or wrong_usage(
            f"there is no configuration of it: no config-{release} beside it, and none in the image",
            "put it beside the image under that name (Ubuntu's comes in linux-modules: unpack both packages"
            " into one folder, and name that)",
        )
    )


def _values(config: bytes) -> Mapping[str, str]:
    return parse_config(config.decode(errors="replace"))


def _extract_content(shop: Workshop, header: BzImage) -> Failure | None:
    """Extracts vmlinux from the image into the workshop, and from it `config` and `btf` if it has them."""
    failure = shop.decompress({"vmlinux": Packed(header.compression, header.payload)})
    if failure is not None:
        return restate_failure(
            failure,
            f"what its image holds does not decompress ({header.compression})",
            f"install {header.compression}, or fetch the kernel once more",
        )
    failure = shop.run(["sh", "-c", _LOOK_INTO, "sh", shop.path(".")])
    if failure is not None:
        return restate_failure(
            failure, "what its image holds cannot be looked into", "fetch the kernel once more"
        )
    return None


def _config_inside(shop: Workshop) -> bytes | None:
    """Returns the configuration embedded in the image, which takes precedence; None if there is none."""
    config = shop.output.read("config", limit=LARGEST_CONFIG)
    return None if isinstance(config, UnfitFile) else config or None


def _types(shop: Workshop) -> bytes | Failure:
    btf = shop.output.read("btf", limit=_LARGEST_BTF)
    if isinstance(btf, UnfitFile) or not btf:
        return refuse_without_btf("its image has no section .BTF")
    return btf


def _compiled_init(shop: Workshop) -> bytes | Failure:
    failure = shop.run([*_COMPILE, "-o", shop.path("init"), shop.give("init.c", _own_init().encode())])
    init = shop.output.read("init", limit=_LARGEST_INIT)
    if failure is None and isinstance(init, bytes):
        return init
    return host_failed(
        "the first program of its guests does not compile",
        "install gcc (`cliffwatch doctor` says what builds need)",
        "" if failure is None else failure.evidence,
    )


def _store(folder: Path, parts: _Parts) -> None:
    with new_entry(folder) as entry:
        (entry / "bzImage").write_bytes(parts.image)
        (entry / "config").write_bytes(parts.config)
        (entry / "btf").write_bytes(parts.btf)
        if parts.initramfs is not None:
            (entry / INITRAMFS).write_bytes(parts.initramfs)
        (entry / RECORD).write_bytes(document_text(parts.record))
