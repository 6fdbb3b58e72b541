"""Words that must not appear in what people read, each with the word to use: docs/glossary.md is the list of
words.

Read are the texts of page templates, the help of every command, the golden reports and the messages in the
code.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
import rich_click as click

from cliffwatch.command.main import main

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("cliffwatch", "runner/cliffwatch_runner", "service/cliffwatch_service")

WORDS: Mapping[str, str] = {
    "told": "reported",
    "held": "stored, kept or checked",
    "sees": "the detectable change",
    "could have seen": "could see",
    "would tell": "would decide",
    "would have been told": "false positives",
    "undecided": "inconclusive",
    "not decided": "inconclusive",
    "base against itself": "base vs base check",
    "a kernel each": "per kernel",
    "boots a kernel": "boots per kernel",
    "boots an arm": "boots per arm",
    "what was said": "comments",
    "surroundings": "environment differences",
    "silent host": "offline host",
    "silent hosts": "offline hosts",
    "fell silent": "went offline",
    "heard of": "seen",
    "mend": "fix",
    "mended": "fixed",
    "teller": "progress",
    "lane": "worktree",
    "lanes": "worktrees",
    "creep": "trend",
    "blur": "uncertainty",
    "unrest": "MAD",
}


def forbidden(text: str) -> list[str]:
    """What is wrong with a text: each forbidden word with its stretch of text and its replacement."""
    plain = " ".join(text.split())
    return [
        f"{match[0]!r} in {plain[max(0, match.start() - 40) : match.end() + 40]!r}: say {instead!r}"
        " (docs/glossary.md)"
        for word, instead in WORDS.items()
        for match in re.finditer(rf"\b{word}\b", plain, re.IGNORECASE)
    ]


def templates() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.html"))


def read_by_people(template: str) -> str:
    """A template without its statements, styles and tags; of tags stay the attributes that people read."""
    text = re.sub(r"{#.*?#}|<style>.*?</style>|<script\b.*?</script>", " ", template, flags=re.DOTALL)
    text = re.sub(
        r"{[{%](.*?)[%}]}",
        lambda match: " … ".join(re.findall(r'"([^"]* [^"]*)"', match[1])),
        text,
        flags=re.DOTALL,
    )
    attributes = re.findall(r'(?:title|placeholder|aria-label|data-label|content)="([^"]*)"', text)
    return re.sub(r"<[^>]*>", " ", text) + " | ".join(["", *attributes])


@pytest.mark.parametrize("path", templates(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_pages(path: Path) -> None:
    assert not forbidden(read_by_people(path.read_text()))


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            inner = command.resolve_command(context, [each])[1]
            assert inner is not None
            yield from commands(inner, f"{name} {each}")


@cache
def helps() -> Mapping[str, str]:
    """By command: its own help and that of its options."""
    return {
        name: "\n".join(
            filter(
                None,
                (command.help, command.epilog, *(getattr(each, "help", None) for each in command.params)),
            )
        )
        for name, command in commands(main, "cliffwatch")
    }


@pytest.mark.parametrize("name", list(helps()))
def test_help(name: str) -> None:
    assert not forbidden(helps()[name])


@pytest.mark.parametrize("path", sorted((ROOT / "tests/data/golden").iterdir()), ids=lambda path: path.name)
def test_reports(path: Path) -> None:
    text = path.read_text()
    assert not forbidden(read_by_people(text) if path.suffix == ".html" else text)


def folders() -> list[Path]:
    """Each package, and each folder of one: what lies deeper belongs to that folder."""
    inner = (
        path for package in PACKAGES for path in (ROOT / package).iterdir() if (path / "__init__.py").exists()
    )
    return sorted([*inner, *(ROOT / package for package in PACKAGES)])


def messages(source: str) -> Iterator[str]:
    """Texts of several words in code, but its docstrings, patterns and queries; … stands where something is
    put in.
    """
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings | parts
        ):
            text = node.value
        if " " in text and not re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|JOIN|CREATE)\b", text):
            yield text


@pytest.mark.parametrize("folder", folders(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_messages(folder: Path) -> None:
    deep = f"{folder.relative_to(ROOT)}" not in PACKAGES
    paths = sorted(folder.rglob("*.py") if deep else folder.glob("*.py"))
    wrong = {
        str(path.relative_to(ROOT)): found
        for path in paths
        if (found := [each for text in messages(path.read_text()) for each in forbidden(text)])
    }
    assert not wrong


def test_the_readers_find_what_they_look_for() -> None:
    assert forbidden("Smaller changes are not told.")
    assert not forbidden("a threshold, a shareholder and a planet")
    assert read_by_people('<p title="held">{{ "it sees all" }} plain</p>').split() == [
        "it",
        "sees",
        "all",
        "plain",
        "|",
        "held",
    ]
    assert list(messages('"""A docstring."""\nraise ValueError(f"it was told {1} times")')) == [
        "it was told … times"
    ]
    assert "cliffwatch token make" in helps()
