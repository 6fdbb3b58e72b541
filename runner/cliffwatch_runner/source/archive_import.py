"""Imports a source archive into a mirror without unpacking it on disk.

Decompressor, reader and git run as a pipeline.
"""

import secrets
import sys
from pathlib import Path

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.trees.git_command import git_argv
from cliffwatch_runner import process
from cliffwatch_runner.source.git import git, git_environment, write_git

_DECOMPRESSORS = {".xz": "xz", ".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".tar": "cat"}
_PIPELINE = (
    'set -o pipefail; decompressor=$1; archive=$2; python=$3; ref=$4; packed=$5; shift 5\n"$decompressor"'
    ' {flags}-- "$archive" | "$python" -m cliffwatch_runner.source.archive_stream "$ref" "$packed" | "$@"'
)
_SECONDS = 4 * 3600.0
_FAST = ("-c", "core.compression=0", "-c", "pack.compression=0")
"""The objects are read again within minutes, so compressing them does not pay."""


def import_archive(path: Path, mirror: Path) -> str | Failure:
    """Imports the files of an archive, without its one top folder. Returns the hash of their tree."""
    decompressor = _DECOMPRESSORS[path.suffix]
    ref = f"refs/importing/{secrets.token_hex(8)}"
    flags = "" if decompressor == "cat" else "-dc "
    importer = git_argv([*_FAST, "fast-import", "--quiet", "--done", "--depth=0"], mirror)
    words = [decompressor, str(path), sys.executable, ref, str(path.stat().st_size), *importer]
    try:
        pipeline = ["bash", "-c", _PIPELINE.format(flags=flags), "import", *words]
        ended = process.run(pipeline, env=git_environment(), deadline=_SECONDS)
        tree = git(["rev-parse", "--verify", "--quiet", f"{ref}^{{tree}}"], git_dir=mirror)
    finally:
        write_git(["update-ref", "-d", ref], git_dir=mirror)
    if ended.ok and tree.ok:
        return tree.output.strip()
    return _not_imported(path, decompressor, ended)


def _not_imported(path: Path, decompressor: str, ended: process.Finished) -> Failure:
    if "No space left on device" in ended.output:
        return host_failed(
            f"{path.name} cannot be imported: the disk is full",
            "make room on the cache's disk, or name another cache with --cache",
            ended.output[-2000:],
        )
    if ended.status == 127:
        return host_failed(f"{decompressor} is missing", f"install {decompressor}")
    return wrong_usage(
        f"{path.name} is no source archive with one folder in it",
        "unpack it and name the folder",
        ended.output[-2000:],
    )
