"""Finds the differences between two revisions: files, and the C functions whose text differs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cliffwatch.failure import Failure, wrong_usage
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
"""Number of files up to which their contents are compared.

In a larger change every file counts as wholly changed.
"""

_OUTSIDE = ""
"""Key for text outside functions: types, macros, variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that differs between two revisions."""

    path: str
    """Path in the tree."""
    functions: frozenset[str] = frozenset()
    """C functions whose text differs; if `whole`, all functions of head's file.

    Empty for a file that is not C.
    """
    whole: bool = True
    """True if text outside functions differs, or if the file was not compared by function."""

    @property
    def is_code(self) -> bool:
        """True if more than comments and whitespace differs."""
        return self.whole or bool(self.functions)


def changed_files(read: GitReader, base: str, head: str) -> tuple[ChangedFile, ...] | Failure:
    """Returns the files that differ between two commits, ordered by path.

    `read` runs git on their repository. A Failure if git cannot tell, because a revision or its folders are
    not there: that is not the same as no difference.
    """
    listed = read(["diff-tree", "-r", "-z", "--no-renames", "--name-only", base, head])
    if not listed.ok:
        return wrong_usage(
            f"git cannot list the files that differ between {base[:40]} and {head[:40]}",
            "check the spelling, fetch both with their folders (no clone with --filter=tree:0), or name the"
            " suites to measure",
            listed.output[-2000:],
        )
    paths = [path for path in listed.output.split("\0") if path]
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
    """Splits a C file in kernel style into functions: name to text, without comments and extra whitespace.

    The empty name stands for everything outside functions.
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
    """Returns the function name that a header defines.

    For macros such as `BPF_CALL_2(name, …)` it is the first argument.
    """
    if "=" in header.partition("(")[0]:
        return None
    for call in _CALL.finditer(header):
        name, first = call[1], call[2].strip()
        if name in _ATTRIBUTES:
            continue
        return first or None if _MACRO.fullmatch(name) else name
    return None
