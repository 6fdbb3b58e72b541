"""Reads a folder's go.mod: the module that it declares, and the modules that it requires."""

import re
from pathlib import Path

_MODULE = re.compile(r"^[^\S\n]*+module[^\S\n]++(\S+)", re.MULTILINE)
_REQUIRED = re.compile(r"^[^\S\n]*+(?:require[^\S\n]++)?([^\s()/][^\s()]*+)[^\S\n]++(v\S+)", re.MULTILINE)
_NO_REQUIREMENT = re.compile(
    r"^[^\S\n]*+(?:replace|exclude|retract)\s*+(?:\([^)]*+\)?|[^\n(]*+)", re.MULTILINE
)
"""An unclosed parenthesis extends to the end of the text."""

_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~/-]{0,199}", re.ASCII)
_LARGEST_BYTES = 1 << 20


def is_module_path(text: str) -> bool:
    """True if a text is a module path, such as github.com/cilium/ebpf."""
    return _PATH.fullmatch(text) is not None


def read_go_mod(folder: Path) -> str | None:
    """Returns the text of a folder's go.mod; None if it cannot be read."""
    try:
        with (folder / "go.mod").open(encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST_BYTES)
    except OSError:
        return None


def declared_module(text: str) -> str | None:
    """Returns the module path that a go.mod declares; None if it declares none."""
    match = _MODULE.search(text)
    return None if match is None else match[1].strip('"')


def required_modules(text: str) -> dict[str, str]:
    """Returns the required modules of a go.mod with their versions."""
    return {name.strip('"'): version for name, version in _REQUIRED.findall(_without_replacements(text))}


def _without_replacements(text: str) -> str:
    """Removes directives that look like requirements: replace, exclude and retract."""
    return _NO_REQUIREMENT.sub("", text)
