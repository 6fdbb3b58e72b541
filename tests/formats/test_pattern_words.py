"""What is wrong with a value is said in words: no reader is shown a regular expression."""

import ast
from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from pydantic import BaseModel, Field, ValidationError

from cliffwatch.formats.reading import convert_to, message_in_words, words_of
from cliffwatch.formats.values import LINE
from cliffwatch.formats.work import AskedWork
from cliffwatch.parsers.readings import Problem
from cliffwatch_service.http.problems import invalid

ROOT = Path(__file__).parents[2]
FOLDERS = ("cliffwatch", "runner/cliffwatch_runner", "service/cliffwatch_service")
TYPES = {"Meta", "Field", "Query", "Path", "Form", "Header", "StringConstraints", "constr"}


def patterns() -> set[str]:
    """Every pattern that a type of a document, a request or a setting is held against."""
    found = set()
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and getattr(node.func, "id", getattr(node.func, "attr", "")) in TYPES
                ):
                    given = [each.value for each in node.keywords if each.arg == "pattern"]
                    found |= {each.value if isinstance(each, ast.Constant) else LINE for each in given}
    return found


PATTERNS = sorted(patterns())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_has_words(pattern: str) -> None:
    words = words_of(pattern)

    assert words
    assert not set(words) & set("^$[]\\{}|*")


def test_there_are_patterns_to_look_at() -> None:
    assert len(PATTERNS) > 30


@pytest.mark.parametrize("pattern", [*PATTERNS, r"^nobody(knows)+$"])
def test_no_message_shows_a_pattern(pattern: str) -> None:
    kind = type(
        "Model", (BaseModel,), {"__annotations__": {"value": str}, "value": Field(pattern=_plain(pattern))}
    )
    with pytest.raises(ValidationError) as refused:
        kind(value="-\x00")
    assert invalid(refused.value.errors()).detail.startswith("value: it must be ")
    assert "^" not in invalid(refused.value.errors()).detail
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert("-\x00", Annotated[str, msgspec.Meta(pattern=pattern)])
    assert message_in_words(str(error.value)).startswith("Expected `str` that is ")
    assert "^" not in message_in_words(str(error.value))


def _plain(pattern: str) -> str:
    """As pydantic takes it, whose regular expressions look at nothing ahead."""
    return pattern.replace(r"(?![\s\S])", "$")


def test_what_is_wrong_with_a_document_is_in_words() -> None:
    asked = {"tree": "no address", "targets": [{"platform": "p", "mode": "icount"}]}
    assert str(convert_to(asked, AskedWork)) == (
        "tree: Expected str that is a URL such as https://git.example.org/linux.git, without blanks"
    )
    wrong = convert_to({**asked, "tree": "https://x", "base": "main"}, AskedWork)
    assert isinstance(wrong, Problem)
    assert "a whole commit: 40 or 64 digits" in wrong.reason
