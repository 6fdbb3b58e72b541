"""Links a built kernel again, with its code elsewhere."""

import hashlib
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cliffwatch.failure import Failure, kernel_failed
from cliffwatch_runner.build.layouts.matching import Addresses, parse_addresses
from cliffwatch_runner.build.layouts.padding import SIZES, pad_object, padded_members, parse_members
from cliffwatch_runner.build.outputs import MIB, unfit_output
from cliffwatch_runner.build.worktree import Worktree
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile

LAYOUT_RECIPE = "1"
"""Increase it when a change here changes the images."""

_FOLDER = "layouts"
"""Below the build output, while a kernel is linked again: `members`, and `objects` with their copies."""
SYSTEM_MAP = "System.map"
OBJECTS = f"{_FOLDER}/objects/"
"""What the paths of the copies begin with, below the build output."""
_MEMBERS_BYTES = 16 * MIB
_MAP_BYTES = 128 * MIB
RELINK, _PAHOLE = "relink.sh", "pahole.sh"
"""Scripts that builds are given."""

Store = Callable[[int], Failure | None]


def layout_entry(kernel: Path, layout: str) -> Path:
    """Returns the cache entry of an image, named by the entry of its kernel and by its layout."""
    name = hashlib.sha256(f"{kernel.name}\0layout {LAYOUT_RECIPE} {layout}".encode()).hexdigest()[:32]
    return kernel.with_name(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relink:
    """A built kernel that is linked again."""

    worktree: Worktree
    """It was just built there."""
    make: Sequence[str]
    """The command that built it."""
    entry: Path
    """Its cache entry."""
    objects: Sequence[str]
    """Paths of the copies of its objects, in their order."""
    log: Path

    def link(self, objects: Iterable[str]) -> Failure | None:
        """Links it of these objects, in their order: copies, and padding."""
        worktree = self.worktree
        give(worktree, "members", "".join(f"{name}\n" for name in objects).encode())
        script, build = str(worktree.given(RELINK)), str(worktree.build)
        archive = ["sh", script, "archive", build, str(worktree.given("members"))]
        return worktree.make(archive, self.log) or worktree.make(
            [*_with_types(worktree, self.make), "bzImage"], self.log
        )

    def addresses(self) -> Addresses:
        """Returns where the latest link put the functions; empty if its map cannot be read."""
        content = self.worktree.output.read(SYSTEM_MAP, limit=_MAP_BYTES)
        return {} if isinstance(content, UnfitFile) else parse_addresses(content.decode(errors="replace"))


def prepare_relink(worktree: Worktree, make: Sequence[str], entry: Path, log: Path) -> Relink | Failure:
    """Has the objects of vmlinux.a copied, without debug information. Raises Stopped."""
    _give_tools(worktree, make)
    failure = worktree.make(["sh", str(worktree.given(RELINK)), "copy", str(worktree.build)], log)
    if failure is not None:
        return failure
    listed = worktree.output.read(f"{_FOLDER}/members", limit=_MEMBERS_BYTES)
    if isinstance(listed, UnfitFile):
        return unfit_output(listed)
    members = parse_members(listed.decode(errors="replace"))
    if isinstance(members, Failure):
        return members
    objects = tuple(f"{OBJECTS}{member}" for member in members)
    return Relink(worktree=worktree, make=make, entry=entry, objects=objects, log=log)


def relink(kernel: Relink, seeds: Sequence[int], store: Store) -> Failure | None:
    """Links the kernel once for each seed, and has each image stored.

    Returns why it cannot be linked so. Raises Stopped.
    """
    before = read_addresses(kernel.entry)
    pad = str(kernel.worktree.given("pad-{}.o"))
    for number, seed in enumerate(seeds, start=1):
        kernel.worktree.settings.report_progress(None, f"layout {number} of {len(seeds)}")
        failure = kernel.link(padded_members(kernel.objects, seed, pad))
        failure = failure or _unmoved(before, kernel.addresses()) or store(seed)
        if failure is not None:
            return failure
    return None


def remove_padding(worktree: Worktree, log: Path) -> Failure | None:
    """Removes what a relink left, whether it ended or was stopped.

    make would take an archive with padding for that of the kernel itself.
    """
    script = 'set -e; cd "$0"; [ -e "$1" ] || exit 0; rm -f vmlinux.a; rm -rf "$1"'
    return worktree.make(["sh", "-c", script, str(worktree.build), _FOLDER], log)


def _give_tools(worktree: Worktree, make: Sequence[str]) -> None:
    """Puts scripts and padding where the sandbox reads them."""
    give(worktree, RELINK, _script(RELINK).encode())
    give(worktree, _PAHOLE, _pahole(worktree, make).encode(), mode=0o755)
    for size in SIZES:
        give(worktree, f"pad-{size}.o", pad_object({".text": size}))


def give(worktree: Worktree, name: str, content: bytes, mode: int = 0o644) -> None:
    """Writes a file that the build can read (`Worktree.given`)."""
    path = worktree.given_folder / name
    path.write_bytes(content)
    path.chmod(mode)


def _with_types(worktree: Worktree, make: Sequence[str]) -> list[str]:
    """Returns the command with the types of the first link in the place of pahole's."""
    replaced = f"PAHOLE={worktree.given(_PAHOLE)}"
    return [replaced if word.startswith("PAHOLE=") else word for word in make]


def _pahole(worktree: Worktree, make: Sequence[str]) -> str:
    """Returns the script that stands for pahole. kbuild wants one word, so what it works with is in it."""
    pahole = next(word.removeprefix("PAHOLE=") for word in make if word.startswith("PAHOLE="))
    first, rest = _script(_PAHOLE).split("\n", 1)
    return f"{first}\nPAHOLE={shlex.quote(pahole)} BTF={shlex.quote(f'{worktree.build}/btf')}\n{rest}"


def _script(name: str) -> str:
    return (files("cliffwatch_runner.build") / "config" / name).read_text()


def read_addresses(entry: Path) -> Addresses:
    """Returns where an image in the cache has its functions."""
    return parse_addresses((entry / SYSTEM_MAP).read_text(errors="replace"))


def _unmoved(before: Addresses, after: Addresses) -> Failure | None:
    """Returns a failure unless at least half of the functions have another address."""
    moved = sum(after.get(function) != address for function, address in before.items())
    if moved * 2 >= max(1, len(before)):
        return None
    return kernel_failed(
        f"linked with padding, {moved} of its {len(before)} functions moved: its link ignores vmlinux.a",
        "measure it in one layout: --layouts 1",
    )
