"""What differs between two revisions: files, and the functions of C files whose text does."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cliffwatch_runner.source.git import GitReader

_MACRO = re.compile(r"[A-Z][A-Z0-9_]*")
_CALL = re.compile(r"(?<!\w)([A-Za-z_]\w*+)\s*+\(([^,()]*+)")
_ATTRIBUTES = frozenset(
    {"__printf", "__attribute__", "__aligned", "__section", "__diag_push", "__bpf_kfunc_start_defs"}
)
_COMMENT = re.compile(r"/\*(?s:.*?)(?:\*/|\Z)|//[^\n]*+")
"""Without a possessive group: Python before 3.11.5 ends one too early."""

_C = (".c", ".h")
_MOST_READ = 500
"""Files that are read; of a larger change all of each file counts."""

_OUTSIDE = ""
"""Stands for what is in no function: types, macros, variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that differs. `functions` are those whose text does, all of head's where something outside of
    them does too (`whole`); empty of a file that is not C.
    """

    path: str
    functions: frozenset[str] = frozenset()
    whole: bool = True

    @property
    def is_code(self) -> bool:
        """Whether more than comments and blanks differs."""
        return self.whole or bool(self.functions)


def changed_files(read: GitReader, base: str, head: str) -> tuple[ChangedFile, ...]:
    """The files in which two commits of the repository differ that `read` reads, in the order of
    their paths.
    """
    listed = read(["diff-tree", "-r", "-z", "--no-renames", "--name-only", base, head])
    paths = [path for path in listed.output.split("\0") if path] if listed.ok else []
    if len(paths) > _MOST_READ:
        return tuple(ChangedFile(path=path) for path in paths)
    return tuple(_read_change(read, base, head, path) for path in paths)


def _read_change(read: GitReader, base: str, head: str, path: str) -> ChangedFile:
    texts = [_text(read, commit, path) for commit in (base, head)] if path.endswith(_C) else []
    if not any(text is not None for text in texts):  # no C, or a clone without its files
        return ChangedFile(path=path)
    before, after = (functions_of(text or "") for text in texts)
    differing = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    whole = _OUTSIDE in differing
    functions = frozenset(after) if whole else frozenset(differing)
    return ChangedFile(path=path, functions=functions - {_OUTSIDE}, whole=whole)


def _text(read: GitReader, commit: str, path: str) -> str | None:
    shown = read(["cat-file", "blob", f"{commit}:{path}"])
    return shown.output if shown.ok else None


def functions_of(text: str) -> Mapping[str, str]:
    """The functions of a C file in the kernel's style by name, each with its text, and under no name all
    else; without comments and blanks.
    """
    parts: dict[str, list[str]] = {_OUTSIDE: []}
    header: list[str] = []
    body: list[str] | None = None
    for line in _COMMENT.sub("", text).splitlines():
        words = " ".join(line.split())
        if body is not None:
            body.append(words)
            if line.startswith("}"):
                body = None
        elif line.startswith("{") and (name := _name(" ".join(header))):
            body = parts.setdefault(name, [])
            body += header
            header = []
        elif not words or words.startswith("#") or words.endswith((";", "}")):
            parts[_OUTSIDE] += [*header, words] if not words.startswith("#include") else header
            header = []
        else:
            header.append(words)
    parts[_OUTSIDE] += header
    return {name: "\n".join(filter(None, lines)) for name, lines in parts.items()}


def _name(header: str) -> str | None:
    """The name that a function's header defines; of `BPF_CALL_2(name, …)` and its like the first argument."""
    if "=" in header.partition("(")[0]:
        return None
    for call in _CALL.finditer(header):
        name, first = call[1], call[2].strip()
        if name in _ATTRIBUTES:
            continue
        return first or None if _MACRO.fullmatch(name) else name
    return None
