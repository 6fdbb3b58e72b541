"""The sandbox in which packages from elsewhere are unpacked and decompressed."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.build.outputs import MIB
from cliffwatch_runner.build.worktree import BUILD, BuildSettings, Worktree
from cliffwatch_runner.sandbox.limits import SandboxLimits
from cliffwatch_runner.sandbox.untrusted_files import remove_tree

_SECONDS = 1800.0
_DISK_BYTES = 8192 * MIB
_FILE_BYTES = 1024 * MIB
"""Limits of several times the needs of any kernel: its package, and its vmlinux without debug information."""

_EVIDENCE = 1000

_UNPACK = """
mkdir -p "$2" || exit
member=$(ar t "$1" | grep '^data\\.tar') || { echo 'it has no data.tar: it is no Debian package'; exit 1; }
case $member in
  data.tar.xz) how='xz -dc' ;;
  data.tar.zst) how='zstd -q -dc' ;;
  data.tar.gz) how='gzip -dc' ;;
  data.tar) how=cat ;;
  *) echo "it is packed as $member, which is not known here"; exit 1 ;;
esac
ar p "$1" "$member" | $how | tar --extract --file - --directory "$2" --no-same-owner --no-same-permissions
"""

_DECOMPRESS = """
while [ $# -gt 0 ]; do
  case $1 in none) program=cat ;; lzma) program=xz ;; *) program=$1 ;; esac
  command -v $program > /dev/null || {
    echo "it is packed with $1, and this host has no program '$program': install it"; exit 1
  }
  case $1 in
    none) cat < "$2" > "$3" ;;
    gzip) gzip -dc < "$2" > "$3" ;;
    xz) xz -dc --single-stream < "$2" > "$3" ;;
    zstd) zstd -q -dc < "$2" > "$3" ;;
    lz4) lz4 -q -dc < "$2" > "$3" ;;
    bzip2) bzip2 -dc < "$2" > "$3" ;;
    lzma) xz --format=lzma -dc < "$2" > "$3" ;;
  esac || { echo "$1 does not decompress $(basename "$2")"; exit 1; }
  shift 3
done
"""


@dataclass(frozen=True, slots=True)
class Packed:
    """Compressed content. `compression` may be "none"."""

    compression: str
    content: bytes


class Workshop:
    """Runs commands on given files. `output` is the folder that they write."""

    def __init__(self, worktree: Worktree, given: Path, settings: BuildSettings) -> None:
        self.settings = settings
        self.output = worktree.output
        self.log = worktree.log("prebuilt")
        self._worktree = worktree
        self._given = given

    def give(self, name: str, content: bytes | Path) -> str:
        """Stores this content, or that of a file, for the commands to read.

        Returns its path as they see it.
        """
        path = self._given / name
        if isinstance(content, Path):
            shutil.copyfile(content, path)
        else:
            path.write_bytes(content)
        path.chmod(0o644)
        return str(self._worktree.given(name))

    def path(self, name: str) -> str:
        """Returns the path of an output file as a command sees it."""
        return f"{self._worktree.build}/{name}"

    def unpack_package(self, given: str, name: str) -> Failure | None:
        return self.run(["sh", "-c", _UNPACK, "sh", given, self.path(name)])

    def decompress(self, packed: Mapping[str, Packed]) -> Failure | None:
        """Decompresses into files of these names.

        One command for all, because starting a sandbox takes longer than the work.
        """
        words = [
            word
            for name, each in packed.items()
            for word in (each.compression, self.give(f"{name}.packed", each.content), self.path(name))
        ]
        return self.run(["sh", "-c", _DECOMPRESS, "sh", *words])

    def run(self, command: Sequence[str]) -> Failure | None:
        """Runs a command. Returns its failure with the end of its output, or None. Raises Stopped."""
        self.log.unlink(missing_ok=True)
        failure = self._worktree.make(command, self.log)
        if failure is None or failure.whose == "host":
            return failure
        said = self.log.read_text(errors="replace")[-_EVIDENCE:] if self.log.exists() else ""
        return replace(failure, evidence="\n".join(filter(None, (_reached(failure), said))))


def _reached(failure: Failure) -> str:
    """Returns the limit at which a command was ended; empty if it reached none."""
    return failure.message if failure.message.startswith("the build") else ""


def restate_failure(failure: Failure, message: str, next_step: str) -> Failure:
    """Restates the failure of a command in terms of its purpose. A failure of the host stays as it is."""
    return failure if failure.whose == "host" else wrong_usage(message, next_step, failure.evidence)


@contextmanager
def workshop(settings: BuildSettings) -> Iterator[Workshop]:
    """Yields a workshop that is removed afterwards.

    Folders of killed processes are listed as leftovers of the cache.
    """
    kernels = settings.built / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".prebuilt-", dir=kernels))
    try:
        folder.chmod(0o755)
        for name in ("source", "output", "ccache", "given", f"source/{BUILD}"):
            (folder / name).mkdir()
            (folder / name).chmod(0o755)
        for written in ("output", "ccache", f"source/{BUILD}"):
            settings.sandbox.give(folder / written)
        limited = replace(settings, limits=_limits(settings))
        worktree = Worktree(folder, folder / "ccache", folder / "given", limited)
        try:
            yield Workshop(worktree, folder / "given", settings)
        finally:
            worktree.discard()
    finally:
        remove_tree(folder)


def _limits(settings: BuildSettings) -> SandboxLimits:
    of = settings.limits
    return replace(
        of,
        seconds=min(of.seconds, _SECONDS),
        disk_bytes=min(of.disk_bytes, _DISK_BYTES),
        file_bytes=min(of.file_bytes, _FILE_BYTES),
    )
