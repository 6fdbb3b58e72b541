"""What the go.mod of a folder says: which module lies there, and which others it is built with."""

import re
from pathlib import Path

_MODULE = re.compile(r"^[^\S\n]*+module[^\S\n]++(\S+)", re.MULTILINE)
_REQUIRED = re.compile(r"^[^\S\n]*+(?:require[^\S\n]++)?([^\s()/][^\s()]*+)[^\S\n]++(v\S+)", re.MULTILINE)
_NO_REQUIREMENT = re.compile(
    r"^[^\S\n]*+(?:replace|exclude|retract)\s*+(?:\([^)]*+\)?|[^\n(]*+)", re.MULTILINE
)
"""A parenthesis that is never closed reaches to the end."""

_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~/-]{0,199}", re.ASCII)
_LARGEST_BYTES = 1 << 20


def is_module_path(text: str) -> bool:
    """Whether a text is the path of a module, such as github.com/cilium/ebpf."""
    return _PATH.fullmatch(text) is not None


def go_mod(folder: Path) -> str | None:
    """The text of a folder's go.mod; None where there is none that can be read."""
    try:
        with (folder / "go.mod").open(encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST_BYTES)
    except OSError:
        return None


def declared_module(text: str) -> str | None:
    """The path of the module whose go.mod this is."""
    match = _MODULE.search(text)
    return None if match is None else match[1].strip('"')


def required_modules(text: str) -> dict[str, str]:
    """The modules that a go.mod requires, with their versions."""
    return {name.strip('"'): version for name, version in _REQUIRED.findall(_without_replacements(text))}


def _without_replacements(text: str) -> str:
    """Without the directives that look like requirements."""
    return _NO_REQUIREMENT.sub("", text)
