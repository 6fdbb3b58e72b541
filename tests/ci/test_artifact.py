"""An artifact is what a stranger wrote: it is a result directory to the letter, or nothing."""

import io
import stat
import zipfile
from pathlib import Path

import pytest

from cliffwatch.failure import Failure
from cliffwatch_runner.ci import artifact
from cliffwatch_runner.ci.artifact import ArtifactName, read_artifact_name, unpack

GOOD = {
    "run.json": b"{}",
    "boots/": b"",
    "boots/001-base/boot.json": b"{}",
    "boots/001-base/samples.json": b"{}",
    "boots/001-base/1/cases/000-local-storage-cache-seq-get.out": b"Summary",
    "boots/002-head.interrupted-1/1/console": b"",
}


def archive(folder: Path, files: dict[str, bytes], *more: tuple[zipfile.ZipInfo, bytes]) -> Path:
    path = folder / "artifact.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        for entry, content in more:
            opened.writestr(entry, content)
    return path


def refusal(folder: Path, files: dict[str, bytes], *more: tuple[zipfile.ZipInfo, bytes]) -> str:
    failure = unpack(archive(folder, {**GOOD, **files}, *more), folder / "out")
    assert isinstance(failure, Failure)
    assert failure.message.startswith("the artifact is not published: ")
    return failure.message


def everything_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_result_directory_is_unpacked(tmp_path: Path) -> None:
    assert unpack(archive(tmp_path, GOOD), tmp_path / "out") is None

    for name, content in GOOD.items():
        if not name.endswith("/"):
            assert (tmp_path / "out" / name).read_bytes() == content
            assert stat.S_IMODE((tmp_path / "out" / name).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "boots/../../evil",
        "/etc/cron.d/evil",
        "boots/001-base/../../../evil",
        "boots\\..\\..\\evil",
        "C:/evil",
        "./run.json",
        "boots//001-base/boot.json",
        "evil",
        "run.json/evil",
        "RUN.JSON",
        "boots/evil",
        "boots/001-evil/boot.json",
        "boots/001-base/evil.json",
        "boots/001-base/x/evil",
        "boots/001-base/1/.hidden",
        "boots/001-base/1/::set-output",
        "boots/001-base/1/\x1b[2J",
        "boots/001-base/1/a/b/c/d/e",
        "boots/001-base/1/" + "x" * 300,
        "\u202enosj.nur",
    ],
)
def test_a_file_that_a_result_directory_does_not_have_refuses_all(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    said = refusal(folder, {name: b"evil"})

    assert said.isascii()
    assert "\x1b" not in said
    assert everything_in(tmp_path) == {"a", "a/b", "a/b/artifact.zip"}


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, stat.S_IFDIR]
)
def test_what_is_no_regular_file_refuses_all(tmp_path: Path, kind: int) -> None:
    entry = zipfile.ZipInfo("boots/001-base/1/console")
    entry.external_attr = (kind | 0o777) << 16

    assert "is no regular file" in refusal(tmp_path, {}, (entry, b"/etc/passwd"))
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("second", ["run.json", "boots/001-base/BOOT.json", "boots/001-base/boot.json"])
def test_a_name_that_is_there_twice_refuses_all(tmp_path: Path, second: str) -> None:
    assert refusal(tmp_path, {}, (zipfile.ZipInfo(second), b"{}"))
    assert not (tmp_path / "out").exists()


def test_what_is_too_much_is_refused_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifact, "_LARGEST_FILE", 1000)
    assert "is too large" in refusal(tmp_path, {"boots/001-base/1/console": b"x" * 1001})
    monkeypatch.setattr(artifact, "_LARGEST_CONTENT", 2000)
    assert "its content is too large" in refusal(
        tmp_path, {f"boots/001-base/1/{n}": b"x" * 900 for n in range(3)}
    )
    monkeypatch.setattr(artifact, "_MOST_ENTRIES", 10)
    assert "it has 26 entries" in refusal(tmp_path, {f"boots/001-base/1/{n}": b"" for n in range(20)})
    monkeypatch.setattr(artifact, "LARGEST_ARCHIVE", 100)
    assert "it is too large" in refusal(tmp_path, {})
    assert not (tmp_path / "out").exists()


def test_a_size_that_is_a_lie_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of contents says 10 bytes; a megabyte of zeros comes out."""
    monkeypatch.setattr(artifact, "_LARGEST_FILE", 1000)
    path = archive(tmp_path, {**GOOD, "boots/001-base/1/console": b"\0" * (1 << 20)})
    honest = (1 << 20).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(honest, (10).to_bytes(4, "little")))

    failure = unpack(path, tmp_path / "out")

    assert isinstance(failure, Failure)
    assert sum(each.stat().st_size for each in (tmp_path / "out").rglob("console")) <= 1000


@pytest.mark.parametrize(
    "content", [b"", b"no archive", b"PK\x05\x06" + b"\xff" * 18, b"PK\x03\x04" + b"\0" * 100]
)
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "artifact.zip").write_bytes(content)

    assert isinstance(unpack(tmp_path / "artifact.zip", tmp_path / "out"), Failure)


def test_damaged_archives_end_in_a_refusal(tmp_path: Path) -> None:
    """Every byte of a small archive, flipped: no exception leaves `unpack`, and nothing is
    written elsewhere.
    """
    whole = archive(tmp_path, GOOD).read_bytes()
    for index in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[index] ^= 0xFF
        (tmp_path / "artifact.zip").write_bytes(damaged)
        out = tmp_path / f"out-{index}"
        unpack(tmp_path / "artifact.zip", out)
        for path in out.rglob("*") if out.exists() else ():
            assert not path.is_symlink()
    assert {path.name.split("-")[0] for path in tmp_path.iterdir()} <= {"artifact.zip", "out"}


def test_encrypted_and_oddly_packed_entries_are_refused(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("run.json", b"{}" * 100, zipfile.ZIP_LZMA)
    (tmp_path / "artifact.zip").write_bytes(packed.getvalue())

    failure = unpack(tmp_path / "artifact.zip", tmp_path / "out")

    assert isinstance(failure, Failure)
    assert "packed in a way that is not read" in failure.message


def test_names_of_artifacts() -> None:
    assert read_artifact_name("cliffwatch-amd-rome-walltime") == ArtifactName(
        platform="amd-rome", mode="walltime"
    )
    assert read_artifact_name("cliffwatch-emulated-x86-64-icount") == ArtifactName(
        platform="emulated-x86-64", mode="icount"
    )
    for other in (
        "coverage",
        "cliffwatch--icount",
        "cliffwatch-x-kvm",
        "cliffwatch-a b-icount",
        "xcliffwatch-a-icount",
    ):
        assert read_artifact_name(other) is None
