"""Unpacks the artifact of a workflow that ran untrusted code.

Trusts no content and writes only to the target folder.

An archive that is not exactly a result directory is refused as a whole. Reasons for refusal: links, absolute
paths, `..` in a path, duplicate names, files that no result directory has, and content above the size limits,
whatever size the archive states.
"""

import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import MODES, Mode, find_mode

LARGEST_ARCHIVE = 128 << 20
"""Maximum size of a downloaded artifact, in bytes."""

_LARGEST_FILE = 32 << 20
_LARGEST_CONTENT = 512 << 20
_MOST_ENTRIES = 20_000
_PIECE = 1 << 20
_ARTIFACT = re.compile(
    rf"cliffwatch-(?P<platform>[A-Za-z0-9][\w.+-]{{0,99}})-(?P<mode>{'|'.join(MODES)})", re.ASCII
)
_PART = re.compile(r"[A-Za-z0-9_][\w.=+,%-]{0,199}", re.ASCII)
_BOOT = re.compile(r"[0-9]{3,6}-(?:base|head|control)(?:\.interrupted-[0-9]{1,4})?")
_OF_BOOT = frozenset({"boot.json", "environment.json", "samples.json"})
_DEEPEST = 6
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    EOFError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactName:
    """The target that a job's artifact is named after."""

    platform: str
    mode: Mode


def read_artifact_name(name: str) -> ArtifactName | None:
    """Returns the target of an artifact that Cliffwatch uploaded; None for other artifacts."""
    match = _ARTIFACT.fullmatch(name)
    mode = None if match is None else find_mode(match["mode"])
    if match is None or mode is None:
        return None
    return ArtifactName(platform=match["platform"], mode=mode)


def unpack(archive: Path, folder: Path) -> Failure | None:
    """Creates `folder` and unpacks a result directory into it.

    After a failure, `folder` may hold some of the files.
    """
    try:
        if archive.stat().st_size > LARGEST_ARCHIVE:
            return refuse_artifact("it is too large")
        with zipfile.ZipFile(archive) as opened:
            entries = opened.infolist()
            refused = _refuse_entries(entries)
            if refused is not None:
                return refused
            folder.mkdir(parents=True)
            _write_files(opened, [entry for entry in entries if not entry.is_dir()], folder)
    except _UNREADABLE as error:
        return refuse_artifact(f"it cannot be unpacked: {ascii(str(error))[:200]}")
    return None


def refuse_artifact(why: str) -> Failure:
    return wrong_usage(
        f"the artifact is not published: {why}", "look at the run of the workflow that made it"
    )


def _refuse_entries(entries: Sequence[zipfile.ZipInfo]) -> Failure | None:
    if len(entries) > _MOST_ENTRIES:
        return refuse_artifact(f"it has {count_noun(len(entries), 'entry', 'entries')}")
    if sum(entry.file_size for entry in entries) > _LARGEST_CONTENT:
        return refuse_artifact("its content is too large")
    names = [entry.filename for entry in entries]
    if len({name.casefold().rstrip("/") for name in names}) != len(names):
        return refuse_artifact("a name is there twice")
    return next(filter(None, map(_refuse_entry, entries)), None)


def _refuse_entry(entry: zipfile.ZipInfo) -> Failure | None:
    shown = ascii(entry.filename[:80])
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or ((kind == stat.S_IFDIR) != entry.is_dir() and kind):
        return refuse_artifact(f"{shown} is no regular file")
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
        return refuse_artifact(f"{shown} is packed in a way that is not read")
    if entry.file_size > _LARGEST_FILE:
        return refuse_artifact(f"{shown} is too large")
    if not _is_of_result_directory(entry.filename, folder=entry.is_dir()):
        return refuse_artifact(f"{shown} is no file of a run")
    return None


def _is_of_result_directory(name: str, *, folder: bool) -> bool:
    """True for the files and folders of docs/formats.md: run.json, and the files of a boot under boots/."""
    parts = name.removesuffix("/").split("/")
    if len(parts) > _DEEPEST or not all(_PART.fullmatch(part) for part in parts):
        return False
    if folder:
        return parts[0] == "boots" and (len(parts) == 1 or bool(_BOOT.fullmatch(parts[1])))
    if len(parts) == 1:
        return parts[0] == "run.json"
    if parts[0] != "boots" or not _BOOT.fullmatch(parts[1]):
        return False
    return (len(parts) == 3 and parts[2] in _OF_BOOT) or (len(parts) > 3 and parts[2].isdigit())


def _write_files(opened: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo], folder: Path) -> None:
    """Writes the files.

    zipfile reads only as many bytes as the list of entries states. A longer file fails its checksum.
    """
    for entry in entries:
        path = folder.joinpath(*entry.filename.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with opened.open(entry) as source, os.fdopen(descriptor, "wb") as sink:
            shutil.copyfileobj(source, sink, _PIECE)
