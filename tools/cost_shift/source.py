"""C functions of a kernel source file, found by their names, and files with edits applied."""

import difflib
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

Files = Mapping[str, str]
"""Texts by path within the tree."""


@dataclass(frozen=True)
class Definition:
    """A function in a file's text: `text[start:body]` is its head, `text[body:end]` its body with braces."""

    start: int
    body: int
    end: int


class Absent(Exception):
    """The tree does not have what an edit looks for."""


def find_function(text: str, name: str) -> Definition:
    """Raises Absent if the text does not define it."""
    for found in re.finditer(
        rf"^(?:[A-Za-z_][^\n;{{}}]*\n)?[A-Za-z_][^\n;]*\b{name}\([^;{{}}]*\)\n{{\n", text, re.MULTILINE
    ):
        start = _start_of_line_with_type(text, found.start())
        return Definition(start, found.end() - 2, text.index("\n}\n", found.end() - 2) + 3)
    raise Absent(f"no function {name}")


def _start_of_line_with_type(text: str, start: int) -> int:
    """Skips an end of a comment or of a macro that the pattern took for a type."""
    first = text[start : text.index("\n", start)]
    return (
        start
        if "(" in first or re.match(r"(?:static|const|struct|void|long|int|u32|size_t|bool)\b", first)
        else (text.index("\n", start) + 1)
    )


def after_declarations(text: str, function: Definition) -> int:
    """Where the first statement begins: behind the first empty line of the body."""
    gap = text.find("\n\n", function.body, function.end)
    if gap < 0:
        raise Absent("no declarations")
    return gap + 2


def replace_once(text: str, old: str, new: str) -> str:
    """Raises Absent unless `old` stands there once."""
    if text.count(old) != 1:
        raise Absent(f"{text.count(old)} times: {old.strip().splitlines()[0]}")
    return text.replace(old, new)


def read_files(tree: Path, paths: Iterable[str]) -> dict[str, str]:
    """Texts of a folder's files, or of a source archive's."""
    if tree.is_dir():
        return {path: (tree / path).read_text() for path in paths}
    wanted = sorted(paths)
    with tempfile.TemporaryDirectory() as folder:
        names = [f"*/{path}" for path in wanted]
        subprocess.run(
            [
                "tar",
                "-xf",
                tree,
                "-C",
                folder,
                "--strip-components=1",
                "--wildcards",
                "--no-wildcards-match-slash",
                *names,
            ],
            check=True,
        )
        return {path: (Path(folder) / path).read_text() for path in wanted}


def patch_of(before: Files, after: Files) -> str:
    """A patch as `git apply` takes it."""
    parts: list[str] = []
    for path, text in after.items():
        old = before.get(path)
        if old == text:
            continue
        parts.append(f"diff --git a/{path} b/{path}\n")
        if old is None:
            parts.append("new file mode 100644\n")
        origin = "/dev/null" if old is None else f"a/{path}"
        parts += difflib.unified_diff(
            (old or "").splitlines(keepends=True), text.splitlines(keepends=True), origin, f"b/{path}"
        )
    return "".join(parts)
