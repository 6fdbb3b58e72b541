"""Every regular expression of the packages, and how each is asked."""

import ast
import gc
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

import cliffwatch
import cliffwatch_runner
import cliffwatch_service

PACKAGES = (cliffwatch, cliffwatch_runner, cliffwatch_service)
_SEEKING = {"search", "sub", "subn", "findall", "finditer", "split"}
_WAYS = {"match", "fullmatch", *_SEEKING}
_ALL = {"match", "fullmatch", "finditer"}
_DEPTH = 5

FACTORIES = {
    "cliffwatch.parsers.bench.kind": "the forms of lines, which `patterns` finds in the kinds",
    "cliffwatch.parsers.bench.lines": "all those forms in one pattern",
    "cliffwatch_service.api.description.examples": "patterns of our own schemas, asked of our own words",
}
"""Modules that compile a pattern in a function."""


def modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        yield package
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


@cache
def patterns() -> dict[str, tuple[re.Pattern[Any], frozenset[str]]]:
    """By `module.name`: each pattern that a module holds, and the ways in which it is asked: match,
    fullmatch, finditer.
    """
    asked, taken = _asked(), set[int]()
    named: dict[str, tuple[re.Pattern[Any], frozenset[str]]] = {}
    for module in list(modules()):
        for name, value in vars(module).items():
            for pattern, member, way in _within(value, name, set(), _DEPTH):
                if id(pattern) in taken:
                    continue
                taken.add(id(pattern))
                ways = (
                    {way} if way else asked.get((module.__name__, member)) or asked.get(("", member)) or _ALL
                )
                key = f"{module.__name__}.{name}"
                named[f"{key} {len(named)}" if key in named else key] = (pattern, frozenset(ways))
    for text in sorted(_of_documents()):
        named[f"msgspec {text}"] = (re.compile(text), frozenset({"finditer"}))
    return named


def _of_documents() -> set[str]:
    """The patterns of members of documents, which msgspec searches for."""
    metas = (each for each in gc.get_objects() if isinstance(each, msgspec.Meta))
    return {each.pattern for each in metas if each.pattern is not None}


def _within(
    value: Any, name: str, seen: set[int], depth: int
) -> Iterator[tuple[re.Pattern[Any], str, str | None]]:
    """Patterns in a value, each with the name under which it is asked, or the way in which it is."""
    of = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        yield value, name, None
    elif isinstance(of, re.Pattern):
        yield of, name, _way(value.__name__)
    elif depth and id(value) not in seen:
        seen.add(id(value))
        for member, each in _members(value, name):
            yield from _within(each, member, seen, depth - 1)


def _members(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((name, each) for each in (*value.keys(), *value.values()))
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((name, each) for each in value)
    if not (value if isinstance(value, type) else type(value)).__module__.startswith("cliffwatch"):
        return
    yield from list(getattr(value, "__dict__", {}).items())
    for member, slot in list(vars(type(value)).items()):
        lazy = isinstance(slot, cached_property) and "Pattern" in str(slot.func.__annotations__.get("return"))
        if lazy or type(slot).__name__ == "member_descriptor":
            yield member, getattr(value, member, None)


def _way(method: str) -> str:
    return "finditer" if method in _SEEKING else method


def sources() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            parts = (package.__name__, *path.relative_to(root).with_suffix("").parts)
            yield ".".join(part for part in parts if part != "__init__"), ast.parse(path.read_text())


def compiled_in_functions() -> Iterator[str]:
    """Where a pattern is made while a function runs, which no walk of modules finds."""
    for module, tree in sources():
        functions = (
            node
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        )
        for node in (each for function in functions for each in ast.walk(function)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=called)) if called != "escape":
                    if module not in FACTORIES:
                        yield f"{module}:{node.lineno}"


def _asked() -> dict[tuple[str, str], set[str]]:
    """The ways in which a name is asked: in the module that has it, and under "" anywhere."""
    asked: dict[tuple[str, str], set[str]] = {}
    for module, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _WAYS:
                name = getattr(node.value, "id", None) or getattr(node.value, "attr", "")
                asked.setdefault((module, name), set()).add(_way(node.attr))
                asked.setdefault(("", name), set()).add(_way(node.attr))
    return asked
