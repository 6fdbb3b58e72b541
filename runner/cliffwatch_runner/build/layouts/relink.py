"""Links a built kernel again, with its code elsewhere."""

import shlex
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from cliffwatch.failure import Failure, kernel_failed
from cliffwatch_runner.build.layouts.padding import SIZES, pad_object, padded_members, parse_members
from cliffwatch_runner.build.outputs import MIB, unfit_output
from cliffwatch_runner.build.worktree import Worktree
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile

LAYOUT_RECIPE = "1"
"""Increase it when a change here changes the images."""

_FOLDER = "layouts"
"""Below the build output, while a kernel is linked again: `members`, and `objects` with their copies."""
_MEMBERS_BYTES = 16 * MIB
_MAP, _MAP_BYTES = "System.map", 128 * MIB
_RELINK, _PAHOLE = "relink.sh", "pahole.sh"

Store = Callable[[int], Failure | None]


def relink(
    worktree: Worktree, make: Sequence[str], seeds: Sequence[int], *, log: Path, store: Store
) -> Failure | None:
    """Links the kernel that was just built in the worktree once for each seed, and has each image stored.

    `make` is the command that built it. Returns why it cannot be linked so. Raises Stopped.
    """
    _give_tools(worktree, make)
    members = _members(worktree, log)
    if isinstance(members, Failure):
        return members
    before = _function_addresses(worktree)
    for number, seed in enumerate(seeds, start=1):
        worktree.settings.report_progress(None, f"layout {number} of {len(seeds)}")
        failure = _link(worktree, make, members, seed, log) or _unmoved(before, _function_addresses(worktree))
        failure = failure or store(seed)
        if failure is not None:
            break
    return remove_padding(worktree, log) or failure


def remove_padding(worktree: Worktree, log: Path) -> Failure | None:
    """Removes what a relink left, whether it ended or was stopped.

    make would take an archive with padding for that of the kernel itself.
    """
    script = 'set -e; cd "$0"; [ -e "$1" ] || exit 0; rm -f vmlinux.a; rm -rf "$1"'
    return worktree.make(["sh", "-c", script, str(worktree.build), _FOLDER], log)


def _give_tools(worktree: Worktree, make: Sequence[str]) -> None:
    """Puts scripts and padding where the sandbox reads them."""
    _give(worktree, _RELINK, _script(_RELINK).encode())
    _give(worktree, _PAHOLE, _pahole(worktree, make).encode(), mode=0o755)
    for size in SIZES:
        _give(worktree, f"pad-{size}.o", pad_object(size))


def _give(worktree: Worktree, name: str, content: bytes, mode: int = 0o644) -> None:
    path = worktree.given_folder / name
    path.write_bytes(content)
    path.chmod(mode)


def _members(worktree: Worktree, log: Path) -> tuple[str, ...] | Failure:
    """Has the objects of vmlinux.a copied, without debug information, and returns their paths."""
    failure = worktree.make(["sh", str(worktree.given(_RELINK)), "copy", str(worktree.build)], log)
    if failure is not None:
        return failure
    listed = worktree.output.read(f"{_FOLDER}/members", limit=_MEMBERS_BYTES)
    if isinstance(listed, UnfitFile):
        return unfit_output(listed)
    return parse_members(listed.decode(errors="replace"))


def _link(
    worktree: Worktree, make: Sequence[str], members: Sequence[str], seed: int, log: Path
) -> Failure | None:
    objects = [f"{_FOLDER}/objects/{member}" for member in members]
    listed = padded_members(objects, seed, str(worktree.given("pad-{}.o")))
    _give(worktree, "members", "".join(f"{name}\n" for name in listed).encode())
    script, build = str(worktree.given(_RELINK)), str(worktree.build)
    archive = ["sh", script, "archive", build, str(worktree.given("members"))]
    return worktree.make(archive, log) or worktree.make([*_with_types(worktree, make), "bzImage"], log)


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


def _function_addresses(worktree: Worktree) -> dict[str, str]:
    """Returns the addresses of the functions by name, hexadecimal; empty if the map cannot be read."""
    content = worktree.output.read(_MAP, limit=_MAP_BYTES)
    if isinstance(content, UnfitFile):
        return {}
    lines = (line.split(" ") for line in content.decode(errors="replace").splitlines())
    return {words[2]: words[0] for words in lines if len(words) == 3 and words[1] in "tT"}


def _unmoved(before: dict[str, str], after: dict[str, str]) -> Failure | None:
    """Returns a failure unless at least half of the functions have another address."""
    moved = sum(after.get(name) != address for name, address in before.items())
    if moved * 2 >= max(1, len(before)):
        return None
    return kernel_failed(
        f"linked with padding, {moved} of its {len(before)} functions moved: its link ignores vmlinux.a",
        "measure it in one layout: --layouts 1",
    )
