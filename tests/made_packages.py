"""Small packages of kernels that are none, for tests of what is taken out of them."""

import gzip
import io
import lzma
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

RELEASE = "6.12.117+made"
BTF = b"\x9f\xeb\x01\x00 the types of a made kernel"

COMPRESSORS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lambda content: lzma.compress(content, check=lzma.CHECK_CRC32),
    "lzma": lambda content: lzma.compress(content, format=lzma.FORMAT_ALONE),
    "zstd": lambda content: _piped(["zstd", "-q", "-c"], content),
    "lz4": lambda content: _piped(["lz4", "-q", "-l", "-c"], content),
    "bzip2": lambda content: _piped(["bzip2", "-c"], content),
}

OPTIONS = {
    **dict.fromkeys(
        ("X86_64", "BPF_SYSCALL", "BPF_JIT", "DEBUG_INFO_BTF", "PERF_EVENTS", "TMPFS", "DEVTMPFS"), "y"
    ),
    **dict.fromkeys(("VIRTIO_PCI", "VIRTIO_CONSOLE", "UNIX", "MODULES", "BLK_DEV_INITRD"), "y"),
    **dict.fromkeys(("NET_9P_VIRTIO", "9P_FS", "OVERLAY_FS"), "m"),
    "INIT_ON_ALLOC_DEFAULT_ON": "y",
    "HZ_1000": "n",
}

MODULES = {
    "kernel/fs/netfs/netfs.ko": "",
    "kernel/net/9p/9pnet.ko": "",
    "kernel/net/9p/9pnet_virtio.ko": "9pnet,virtio,virtio_ring",
    "kernel/fs/9p/9p.ko": "netfs,9pnet",
    "kernel/fs/overlayfs/overlay.ko": "",
}
"""Paths, and what each needs; virtio and virtio-ring are built in."""


def _piped(command: list[str], content: bytes) -> bytes:
    return subprocess.run(command, input=content, check=True, capture_output=True).stdout


def config(**changed: str) -> bytes:
    """A configuration like a distribution's, with some options changed."""
    lines = [
        f"# CONFIG_{name} is not set" if value == "n" else f"CONFIG_{name}={value}"
        for name, value in {**OPTIONS, **changed}.items()
    ]
    return ("\n".join(lines) + "\n").encode()


def vmlinux(folder: Path, *, types: bytes = BTF, inside: bytes = b"") -> bytes:
    """An ELF file with a section of types, where there are any; `inside` is the configuration that it holds
    itself.
    """
    kept = b"IKCFG_ST" + gzip.compress(inside) + b"IKCFG_ED" if inside else b""
    (folder / "content").write_bytes(b"code of a made kernel\n" + kept + b"\0more code\n")
    (folder / "types").write_bytes(types)
    made = folder / "vmlinux"
    subprocess.run(
        ["objcopy", "-I", "binary", "-O", "elf64-x86-64", str(folder / "content"), str(made)], check=True
    )
    if types:
        subprocess.run(["objcopy", "--add-section", f".BTF={folder / 'types'}", str(made)], check=True)
    return made.read_bytes()


def bz_image(content: bytes, *, release: str = RELEASE, compression: str = "gzip") -> bytes:
    """An image with a header as the boot protocol has it, and that content as its payload."""
    payload = COMPRESSORS[compression](content)
    if compression != "gzip":
        payload += len(content).to_bytes(4, "little")
    header = bytearray(4096)
    header[0x1F1] = 7
    header[0x1FE:0x200] = b"\x55\xaa"
    header[0x202:0x206] = b"HdrS"
    header[0x206:0x208] = (0x020F).to_bytes(2, "little")
    header[0x20E:0x210] = (0x400).to_bytes(2, "little")
    name = f"{release} (somebody@somewhere) #1 SMP\0".encode()
    header[0x600 : 0x600 + len(name)] = name
    header[0x248:0x24C] = (64).to_bytes(4, "little")
    header[0x24C:0x250] = len(payload).to_bytes(4, "little")
    return bytes(header) + bytes(64) + payload + b"what comes after"


def module(depends: str) -> bytes:
    return b"\x7fELF of a made module\0license=GPL\0depends=" + depends.encode() + b"\0name=made\0"


def contents(folder: Path, **changed: str) -> dict[str, bytes]:
    """The files of a good package, by their paths in it; some options of its configuration may be changed."""
    modules = f"lib/modules/{RELEASE}"
    return {
        f"boot/vmlinuz-{RELEASE}": bz_image(vmlinux(folder)),
        f"boot/config-{RELEASE}": config(**changed),
        f"{modules}/modules.order": "".join(f"{path}\n" for path in MODULES).encode(),
        f"{modules}/modules.builtin": (
            b"kernel/drivers/virtio/virtio.ko\nkernel/drivers/virtio/virtio-ring.ko\n"
        ),
        **{f"{modules}/{path}.xz": lzma.compress(module(depends)) for path, depends in MODULES.items()},
    }


def package(files: Mapping[str, bytes | tarfile.TarInfo], *, compression: str = "xz") -> bytes:
    """A Debian package with these files; what is a TarInfo (a link, a device, …) is taken as it is."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in files.items():
            about = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo()
            about.name = f"./{name}"
            if isinstance(content, bytes):
                about.size = len(content)
                tar.addfile(about, io.BytesIO(content))
            else:
                tar.addfile(about)
    suffix = {"gzip": "gz", "zstd": "zst"}.get(compression, compression)
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": lzma.compress(b""),
        f"data.tar.{suffix}": COMPRESSORS[compression](archive.getvalue()),
    }
    return b"!<arch>\n" + b"".join(_member(name, content) for name, content in members.items())


def _member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
    return head.encode() + content + b"\n" * (len(content) % 2)


def instead(kind: bytes, target: str = "") -> tarfile.TarInfo:
    """What may stand in a file's place: `kind` is one of tarfile's types."""
    about = tarfile.TarInfo()
    about.type = kind
    about.linkname = target
    about.devmajor, about.devminor = 1, 5  # /dev/zero
    return about


def lay_out(files: Mapping[str, bytes], folder: Path) -> Path:
    """The files of a package, unpacked into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
