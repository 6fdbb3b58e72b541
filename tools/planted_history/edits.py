"""Commits that a planted history is filled with: they change files, and no speed that is measured."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

Kind = Literal["planted", "text", "driver", "header", "comment", "breaks", "fix", "reverted", "revert"]

MEASURED = (
    "kernel/bpf/",
    "arch/x86/entry/",
    "kernel/trace/",
    "kernel/rcu/",
    "tools/",
    "scripts/",
    "include/linux/bpf",
)
"""What is on the measured paths, or builds and measures: no change of text goes there, comments do."""

_BUILT = ("fs/proc/", "net/ipv4/", "net/core/", "mm/")
_DRIVER_HEADERS = (
    "include/linux/mfd/",
    "include/linux/platform_data/",
    "include/media/",
    "include/sound/",
    "include/uapi/",
)
_COMMENTED = ("kernel/bpf/", "kernel/")


@dataclass(frozen=True, slots=True)
class Edit:
    """A commit that is to be made: of a patch `patch` names the file, else `change` makes the new text of the
    file at `path`.
    """

    kind: Kind
    subject: str
    path: str = ""
    change: Callable[[str], str] | None = None
    patch: str = ""


def appended_function(number: int) -> Callable[[str], str]:
    """A function that nobody calls: the text of the kernel moves."""
    return lambda text: (
        f"{text}\nstatic noinline __attribute__((__used__)) int planted_{number}(int value)\n{{\n\treturn"
        f" value + {number};\n}}\n"
    )


def appended_macro(number: int) -> Callable[[str], str]:
    return lambda text: f"{text}\n#define PLANTED_{number} {number}\n"


def comment_on_top(number: int) -> Callable[[str], str]:
    """Below the first line, which is the licence's, unless a comment of several lines begins there: all that
    follows gets another line number.
    """

    def change(text: str) -> str:
        first, _, rest = text.partition("\n")
        if "/*" in first and "*/" not in first:
            return f"/* Note {number}. */\n{text}"
        return f"{first}\n/* Note {number}. */\n{rest}"

    return change


def broken(number: int) -> Callable[[str], str]:
    return lambda text: f"{text}\nint planted_{number}(void)\n{{\n\treturn not_declared_{number};\n}}\n"


@dataclass(frozen=True, slots=True)
class Mix:
    """How many commits of each kind, besides those planted."""

    text: int = 10
    drivers: int = 20
    comments: int = 5
    breaks: int = 1
    reverted: int = 1


def drawn_edits(mix: Mix, files: Sequence[str], draw: random.Random) -> list[Edit]:
    """The edits in no order yet, each of a file of its own. A tree without files of a kind gets any C file
    off the measured paths.
    """
    free = [path for path in files if path.endswith((".c", ".h")) and not path.startswith(MEASURED)]
    taken: set[str] = set()

    def pick(prefixes: tuple[str, ...], suffix: str, among: Sequence[str] = free) -> str:
        left = [path for path in among if path.endswith(suffix) and path not in taken]
        path = draw.choice([path for path in left if path.startswith(prefixes)] or left)
        taken.add(path)
        return path

    def edits(kind: Kind, count: int, prefixes: tuple[str, ...], first: int = 0) -> list[Edit]:
        """So many of a kind that appends a function; their numbers keep the functions' names apart."""
        return [
            _edit(kind, pick(prefixes, ".c"), appended_function(number), number)
            for number in range(first, first + count)
        ]

    headers = mix.drivers // 2
    return [
        *(
            _edit("breaks", pick((), ".c", _built_always(files)), broken(number), number)
            for number in range(mix.breaks)
        ),
        *edits("text", mix.text, _BUILT),
        *edits("driver", mix.drivers - headers, ("drivers/",), 100),
        *(
            _edit("header", pick(_DRIVER_HEADERS, ".h"), appended_macro(number), number)
            for number in range(headers)
        ),
        *(
            _edit("comment", pick(_COMMENTED, ".c", files), comment_on_top(number), number)
            for number in range(mix.comments)
        ),
        *edits("reverted", mix.reverted, _BUILT, 200),
    ]


def _built_always(files: Sequence[str]) -> list[str]:
    """Files of which every kernel has the object: a break there breaks the build."""
    known = (
        "mm/memory.c",
        "mm/mmap.c",
        "mm/slab_common.c",
        "lib/string.c",
        "lib/vsprintf.c",
        "kernel/fork.c",
    )
    return [path for path in files if path in known] or [
        path for path in files if path.endswith("kernel/bpf/core.c")
    ]


def _edit(kind: Kind, path: str, change: Callable[[str], str], number: int) -> Edit:
    where = PurePosixPath(path)
    area = "/".join(where.parts[:2]) if len(where.parts) > 2 else where.parts[0]
    return Edit(kind=kind, subject=f"{area}: Revise {where.stem} ({number})", path=path, change=change)


def taken_back(edit: Edit, kind: Kind, text: str) -> Edit:
    """The edit that gives the file the text that it had."""
    subject = f'Revert "{edit.subject}"' if kind == "revert" else f"{edit.subject.split(':')[0]}: Build again"
    return Edit(kind=kind, subject=subject, path=edit.path, change=lambda _: text)
