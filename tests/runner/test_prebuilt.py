"""Kernels that somebody else built are taken from packages, images and folders, or refused with what they
lack.
"""

import json
import lzma
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isolation_here import ISOLATION
from made_packages import (
    BTF,
    COMPRESSORS,
    RELEASE,
    bz_image,
    config,
    contents,
    instead,
    lay_out,
    module,
    package,
    vmlinux,
)

from cliffwatch.failure import Failure
from cliffwatch_runner.build.cache.uses import cache_uses
from cliffwatch_runner.build.images import workshop
from cliffwatch_runner.build.images.bz_image import BzImage, read_bz_image
from cliffwatch_runner.build.images.config import forbidden_in_prebuilt
from cliffwatch_runner.build.images.initramfs import dependencies, initramfs, modules_of
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.prebuilt import prebuilt_kernel
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.sandbox.isolation import choose_sandbox
from cliffwatch_runner.sandbox.limits import host_limits
from cliffwatch_runner.sandbox.sandbox import Sandbox

SECRET = b"the-secret-of-the-host"

Take = Callable[[Path], Kernel | Failure]


@pytest.fixture
def take(open_folder: Path) -> Iterator[Take]:
    """Takes a kernel into a cache of the test's own."""
    sandbox = choose_sandbox(ISOLATION, None)
    assert isinstance(sandbox, Sandbox)
    with cache_uses() as uses:
        settings = BuildSettings(
            cache=open_folder / "cache",
            built=open_folder / "cache",
            sandbox=sandbox,
            limits=host_limits(600.0),
            trust="local",
            jobs=1,
            report_progress=lambda share, what: None,
            should_stop=lambda: False,
            uses=uses,
        )
        yield lambda path: prebuilt_kernel(path, settings)


@pytest.fixture
def deb(tmp_path: Path) -> Path:
    path = tmp_path / "linux-image.deb"
    path.write_bytes(package(contents(tmp_path)))
    return path


def refused(taken: Kernel | Failure) -> Failure:
    """A refusal is the caller's to act on, and says how."""
    assert isinstance(taken, Failure), taken
    assert taken.whose == "usage"
    assert taken.next_step
    return taken


def taken(kernel: Kernel | Failure) -> Kernel:
    assert isinstance(kernel, Kernel), kernel
    return kernel


def unpacked(archive: Path, folder: Path) -> dict[str, bytes]:
    """Its files; only root may make the console."""
    folder.mkdir()
    extract = ["cpio", "--extract", "--quiet", "--make-directories", "-F", str(archive), "init", "modules/*"]
    subprocess.run(extract, cwd=folder, check=True)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_package_becomes_a_kernel_in_the_cache(take: Take, tmp_path: Path) -> None:
    files = contents(tmp_path)
    deb = tmp_path / "linux-image.deb"
    deb.write_bytes(package(files))

    kernel = taken(take(deb))

    assert (kernel.release, kernel.prebuilt, kernel.shows_config) == (RELEASE, True, False)
    assert (kernel.folder / "config").read_bytes() == config()
    assert kernel.given_config == kernel.folder / "config"
    assert kernel.btf.read_bytes() == BTF
    assert (kernel.folder / "bzImage").read_bytes() == files[f"boot/vmlinuz-{RELEASE}"]


def test_it_is_taken_once_and_nothing_else_stays(take: Take, deb: Path) -> None:
    first, second = taken(take(deb)), taken(take(deb))

    assert (first.was_there, second.was_there) == (False, True)
    assert first.digest == second.digest
    assert [path.name for path in first.folder.parent.iterdir()] == [first.digest]


def test_modules_come_in_the_order_in_which_they_can_be_loaded(take: Take, deb: Path, tmp_path: Path) -> None:
    archive = taken(take(deb)).initramfs

    assert archive is not None
    files = unpacked(archive, tmp_path / "initramfs")
    order = [Path(line).stem for line in files["modules/order"].decode().splitlines()]
    assert order == ["9pnet", "9pnet_virtio", "netfs", "9p", "overlay"]
    assert files["modules/9p.ko"] == module("netfs,9pnet")
    assert files["init"].startswith(b"\x7fELF")


def test_a_kernel_that_has_all_built_in_needs_no_initial_file_system(take: Take, tmp_path: Path) -> None:
    built_in = contents(tmp_path, NET_9P_VIRTIO="y", **{"9P_FS": "y", "OVERLAY_FS": "y"})
    path = tmp_path / "linux-image.deb"
    path.write_bytes(package(built_in))

    assert taken(take(path)).initramfs is None


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_packages_of_every_compression_unpack(take: Take, tmp_path: Path, compression: str) -> None:
    path = tmp_path / "linux-image.deb"
    path.write_bytes(package(contents(tmp_path), compression=compression))

    assert taken(take(path)).release == RELEASE


def test_a_program_that_a_host_has_not_is_named(tmp_path: Path) -> None:
    unpack = ["/bin/sh", "-c", workshop._DECOMPRESS, "sh", "lz4", "image", "unpacked"]

    done = subprocess.run(unpack, check=False, capture_output=True, text=True, env={"PATH": str(tmp_path)})

    assert (done.returncode, done.stdout) == (
        1,
        "it is packed with lz4, and this host has no program 'lz4': install it\n",
    )


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_images_of_every_compression_tell_their_types(take: Take, tmp_path: Path, compression: str) -> None:
    image = bz_image(vmlinux(tmp_path), compression=compression)
    top = lay_out({**contents(tmp_path), f"boot/vmlinuz-{RELEASE}": image}, tmp_path / "top")

    assert taken(take(top)).btf.read_bytes() == BTF


def test_a_folder_and_the_image_in_it_are_the_same_kernel(take: Take, tmp_path: Path) -> None:
    top = lay_out(contents(tmp_path), tmp_path / "top")
    (tmp_path / "vmlinuz").symlink_to(top / f"boot/vmlinuz-{RELEASE}")

    kernels = [taken(take(path)) for path in (top, top / f"boot/vmlinuz-{RELEASE}", tmp_path / "vmlinuz")]

    assert len({kernel.digest for kernel in kernels}) == 1


def test_modules_may_lie_under_usr(take: Take, tmp_path: Path) -> None:
    top = lay_out(contents(tmp_path), tmp_path / "top")
    (top / "usr").mkdir()
    (top / "lib").rename(top / "usr/lib")

    assert taken(take(top)).initramfs is not None


def test_what_the_image_says_of_its_configuration_counts_before_the_file_beside_it(
    take: Take, tmp_path: Path
) -> None:
    own = config(IKCONFIG_PROC="y", HZ_1000="y")
    top = lay_out(
        {**contents(tmp_path), f"boot/vmlinuz-{RELEASE}": bz_image(vmlinux(tmp_path, inside=own))},
        tmp_path / "top",
    )

    kernel = taken(take(top))

    assert (kernel.folder / "config").read_bytes() == own
    assert kernel.shows_config
    assert kernel.given_config is None


def test_what_differs_from_our_own_kernels_is_stated(take: Take, deb: Path) -> None:
    notes = taken(take(deb)).notes

    assert "CONFIG_HZ_1000 is n, not y" in notes
    assert "hardening that our own kernels do not have: CONFIG_INIT_ON_ALLOC_DEFAULT_ON" in notes
    assert "its configuration is the package's, as the kernel itself shows none" in notes
    assert "drivers from an initial file system: 9pnet, 9pnet_virtio, netfs, 9p, overlay" in notes
    assert not any("CONFIG_9P_FS" in note or "IKCONFIG" in note for note in notes)


def test_bounds_that_distributions_check_are_a_difference_and_no_debug_option(
    take: Take, tmp_path: Path
) -> None:
    path = tmp_path / "linux-image.deb"
    path.write_bytes(package(contents(tmp_path, UBSAN="y")))

    assert any("CONFIG_UBSAN" in note for note in taken(take(path)).notes)
    assert "CONFIG_UBSAN" not in forbidden_in_prebuilt()


REFUSED_OPTIONS = {
    "BTF": ({"DEBUG_INFO_BTF": "n"}, "CONFIG_DEBUG_INFO_BTF=y"),
    "a debug kernel": (
        {"KASAN": "y", "PROVE_LOCKING": "y"},
        "debug kernel: CONFIG_KASAN, CONFIG_PROVE_LOCKING",
    ),
    "9p": ({"9P_FS": "n"}, "CONFIG_9P_FS"),
    "a guest's disk in memory": ({"BLK_DEV_INITRD": "n"}, "CONFIG_BLK_DEV_INITRD"),
    "the JIT": ({"BPF_JIT": "n"}, "CONFIG_BPF_JIT (what is measured is compiled programs)"),
}


@pytest.mark.parametrize("which", REFUSED_OPTIONS)
def test_a_kernel_that_cannot_be_measured_is_refused_with_the_options(
    take: Take, tmp_path: Path, which: str
) -> None:
    options, said = REFUSED_OPTIONS[which]
    path = tmp_path / "linux-image.deb"
    path.write_bytes(package(contents(tmp_path, **options)))

    failure = refused(take(path))

    assert said in failure.message + failure.next_step
    assert failure.message.startswith("linux-image.deb: ")


def test_an_image_without_types_is_refused_whatever_its_configuration_says(
    take: Take, tmp_path: Path
) -> None:
    top = lay_out(
        {**contents(tmp_path), f"boot/vmlinuz-{RELEASE}": bz_image(vmlinux(tmp_path, types=b""))},
        tmp_path / "top",
    )

    failure = refused(take(top))

    assert "no types (BTF)" in failure.message
    assert "CONFIG_DEBUG_INFO_BTF=y" in failure.next_step


def test_an_image_without_a_configuration_is_refused(take: Take, tmp_path: Path) -> None:
    image = tmp_path / "vmlinuz"
    image.write_bytes(bz_image(vmlinux(tmp_path)))

    assert f"config-{RELEASE}" in refused(take(image)).message


def test_a_missing_module_is_named(take: Take, tmp_path: Path) -> None:
    files = contents(tmp_path)
    del files[f"lib/modules/{RELEASE}/kernel/fs/netfs/netfs.ko.xz"]

    assert "its module netfs" in refused(take(lay_out(files, tmp_path / "top"))).message


def test_an_image_without_its_modules_is_refused(take: Take, tmp_path: Path) -> None:
    files = {name: content for name, content in contents(tmp_path).items() if name.startswith("boot/")}

    failure = refused(take(lay_out(files, tmp_path / "top")))

    assert f"lib/modules/{RELEASE}/modules.order" in failure.message


OTHER_FILES = {
    "a text": b"hello\n",
    "nothing": b"",
    "a package of something else": package({"usr/share/doc/hello": b"hello\n"}),
    "a broken package": package({"boot/vmlinuz": b"x" * 4096})[:-1000],
    "an archive of other things": b"!<arch>\n",
    "half an image": b"\0" * 510 + b"\x55\xaa" + b"\0\0HdrS",
}


@pytest.mark.parametrize("which", OTHER_FILES)
def test_what_is_no_kernel_is_refused(take: Take, tmp_path: Path, which: str) -> None:
    path = tmp_path / "given"
    path.write_bytes(OTHER_FILES[which])

    refused(take(path))


def test_what_is_not_there_is_refused(take: Take, tmp_path: Path) -> None:
    refused(take(tmp_path / "nothing"))
    refused(take(tmp_path))


def test_of_several_images_one_is_to_be_named(take: Take, tmp_path: Path) -> None:
    top = lay_out({**contents(tmp_path), "boot/vmlinuz-6.1.0": b"another"}, tmp_path / "top")

    assert "boot/vmlinuz-6.1.0" in refused(take(top)).message


IN_THE_PLACE_OF = (
    f"boot/vmlinuz-{RELEASE}",
    f"boot/config-{RELEASE}",
    f"lib/modules/{RELEASE}/modules.order",
)

KINDS = {
    "a link to a file": (tarfile.SYMTYPE, "{secret}"),
    "a link up": (tarfile.SYMTYPE, "../../../../../../../../..{secret}"),
    "a hard link": (tarfile.LNKTYPE, "{secret}"),
    "a device": (tarfile.CHRTYPE, ""),
    "a pipe": (tarfile.FIFOTYPE, ""),
    "a folder": (tarfile.DIRTYPE, ""),
}


@pytest.fixture
def secret(open_folder: Path) -> Path:
    path = open_folder / "secret"
    path.write_bytes(SECRET)
    return path


def assert_kept(secret: Path, folder: Path) -> None:
    assert secret.read_bytes() == SECRET
    for path in (folder / "cache").rglob("*"):
        assert not path.is_symlink()
        assert not path.is_file() or SECRET not in path.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", IN_THE_PLACE_OF, ids=lambda place: Path(place).name.split("-")[0])
def test_nothing_of_the_host_comes_in_by_a_package(
    take: Take, tmp_path: Path, open_folder: Path, secret: Path, place: str, kind: str
) -> None:
    form, target = KINDS[kind]
    path = tmp_path / "linux-image.deb"
    path.write_bytes(package({**contents(tmp_path), place: instead(form, target.format(secret=secret))}))

    refused(take(path))

    assert_kept(secret, open_folder)


@pytest.mark.parametrize("folder", ["boot", "lib", f"lib/modules/{RELEASE}"])
def test_folders_of_a_package_that_are_links_lead_nowhere(
    take: Take, tmp_path: Path, open_folder: Path, secret: Path, folder: str
) -> None:
    elsewhere = lay_out(contents(tmp_path), open_folder / "elsewhere")
    files = {
        name: content for name, content in contents(tmp_path).items() if not name.startswith(f"{folder}/")
    }
    path = tmp_path / "linux-image.deb"
    path.write_bytes(package({**files, folder: instead(tarfile.SYMTYPE, str(elsewhere / folder))}))
    unpacked_by_hand = lay_out(files, tmp_path / "by-hand")
    (unpacked_by_hand / folder).parent.mkdir(parents=True, exist_ok=True)
    (unpacked_by_hand / folder).symlink_to(elsewhere / folder)

    refused(take(path))
    refused(take(unpacked_by_hand))

    assert_kept(secret, open_folder)


def test_files_that_a_package_puts_outside_its_folder_are_not_written(
    take: Take, tmp_path: Path, open_folder: Path
) -> None:
    victim = open_folder / "victim"
    victim.mkdir(mode=0o777)
    victim.chmod(0o777)
    files = {
        "way": instead(tarfile.SYMTYPE, str(victim)),
        "way/written": b"by the package",
        **contents(tmp_path),
    }
    path = tmp_path / "linux-image.deb"
    path.write_bytes(package(files))

    take(path)

    assert list(victim.iterdir()) == []


def test_huge_files_are_not_taken(take: Take, tmp_path: Path) -> None:
    top = lay_out(contents(tmp_path), tmp_path / "top")
    with (top / f"boot/config-{RELEASE}").open("ab") as file:
        file.truncate(1 << 40)

    assert "no configuration" in refused(take(top)).message


def test_a_payload_that_unpacks_to_gigabytes_ends_at_its_limit(take: Take, tmp_path: Path) -> None:
    bomb = subprocess.run(
        "head -c 2G /dev/zero | zstd -q -c", shell=True, check=True, capture_output=True
    ).stdout  # some hundred kilobytes
    image = bytearray(bz_image(b"", compression="zstd"))
    payload = bomb + bytes(4)
    image[0x24C:0x250] = len(payload).to_bytes(4, "little")
    top = lay_out(
        {**contents(tmp_path), f"boot/vmlinuz-{RELEASE}": bytes(image[: 4096 + 64]) + payload},
        tmp_path / "top",
    )

    assert "does not decompress" in refused(take(top)).message


@pytest.mark.parametrize(
    "path", ["../../../secret.ko", "/secret.ko", "kernel/../secret.ko", "kernel//9p.ko", "9p"]
)
def test_paths_of_modules_stay_below_their_folder(path: str) -> None:
    assert modules_of(f"{path}\n") == {}


@given(st.text(), st.binary())
def test_any_list_and_any_module_is_read(listing: str, content: bytes) -> None:
    assert all(".." not in path.split("/") for path in modules_of(listing).values())
    dependencies(content)


@given(st.binary(max_size=2000))
def test_any_bytes_are_an_image_or_say_why_not(content: bytes) -> None:
    assert isinstance(read_bz_image(content), Failure)


@given(st.lists(st.tuples(st.integers(0x1F1, 0x250), st.integers(0, 255)), max_size=8))
def test_any_header_is_read(changes: list[tuple[int, int]]) -> None:
    image = bytearray(bz_image(b"content"))
    for at, value in changes:
        image[at] = value

    header = read_bz_image(bytes(image))

    assert isinstance(header, Failure | BzImage)


def test_an_initial_file_system_depends_on_its_content_alone() -> None:
    modules = {"9pnet": b"one", "9p": b"three"}

    assert initramfs(b"init", modules) == initramfs(b"init", dict(modules))
    assert initramfs(b"init", modules) != initramfs(b"init", {"9p": b"three", "9pnet": b"one"})


def test_the_record_is_of_the_kernel(take: Take, deb: Path) -> None:
    kernel = taken(take(deb))

    record = json.loads((kernel.folder / "kernel.json").read_text())
    assert record["release"] == RELEASE
    assert record["config_digest"] == kernel.config_digest


def test_modules_are_taken_as_they_are_packed(take: Take, tmp_path: Path) -> None:
    files = contents(tmp_path)
    below = f"lib/modules/{RELEASE}/kernel/net/9p"
    files[f"{below}/9pnet.ko"] = lzma.decompress(files.pop(f"{below}/9pnet.ko.xz"))
    files[f"{below}/9pnet_virtio.ko.gz"] = COMPRESSORS["gzip"](module("9pnet"))
    del files[f"{below}/9pnet_virtio.ko.xz"]

    assert taken(take(lay_out(files, tmp_path / "top"))).initramfs is not None
