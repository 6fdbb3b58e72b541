"""docs/api.md, done as it stands: its commands and programs against a served demonstration."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service_running import Running

PAGE = Path(__file__).parents[2] / "docs/api.md"


@pytest.fixture
def demonstration(kept_demonstration: Any, tmp_path: Path) -> Iterator[Any]:
    """One of its own, as the page writes too."""
    yield from kept_demonstration.served(tmp_path)


def snippets(language: str) -> list[tuple[str, str | None]]:
    """Each block of that language with the answer that the page shows below it, None where it shows none."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [
        (text, after if kind in ("json", "text") else None)
        for (given, text), (kind, after) in zip(blocks, [*blocks[1:], ("", "")], strict=True)
        if given == language
    ]


@pytest.mark.skipif(
    shutil.which("curl") is None, reason="the page's commands are curl's, and there is none here"
)
def test_what_the_page_shows_is_what_is_answered(demonstration: Any) -> None:
    commands, programs = snippets("sh"), snippets("python")
    assert len(commands) > 5
    assert len(programs) > 0
    for command, shown in commands:
        answer = output(demonstration, ["bash", "-euc", command])
        if shown is not None:
            assert_holds(last_document(answer), pattern(shown), command)
        else:
            assert answer
            assert "urn:cliffwatch:problem" not in answer, answer
    for program, shown in programs:
        assert output(demonstration, [sys.executable, "-c", program]) == shown


def output(running: Running, command: list[str]) -> str:
    env = {**os.environ, "URL": running.url, "TOKEN": running.tokens["admin"]}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def last_document(text: str) -> Any:
    """Of a block with several commands."""
    decoder, position, document = json.JSONDecoder(), 0, None
    while position < len(text):
        document, position = decoder.raw_decode(text, position)
    return document


def pattern(shown: str) -> Any:
    """The page's JSON: `…` at the end of an object or a list stands for more of it, `"…"` for any value."""
    members = re.sub(r'(?<!")…(?=\s*})', '"…": "…"', shown)
    return json.loads(re.sub(r'(?<!")…(?=\s*\])', '"…"', members))


def assert_holds(answer: Any, wanted: Any, where: str) -> None:
    if wanted == "…":
        return
    if isinstance(wanted, dict):
        named = {name: value for name, value in wanted.items() if name != "…"}
        assert isinstance(answer, dict), where
        assert named.keys() <= answer.keys(), f"{where}: no {named.keys() - answer.keys()}"
        assert "…" in wanted or answer.keys() == named.keys(), f"{where}: {answer.keys() - named.keys()} too"
        for name, value in named.items():
            assert_holds(answer[name], value, f"{where}/{name}")
    elif isinstance(wanted, list):
        shown = [value for value in wanted if value != "…"]
        assert len(answer) == len(shown) or (len(answer) > len(shown) and len(shown) < len(wanted)), where
        for number, (value, like) in enumerate(zip(answer, shown, strict=False)):
            assert_holds(value, like, f"{where}/{number}")
    elif isinstance(wanted, float):
        assert answer == pytest.approx(wanted, rel=1e-4, abs=1e-6), where  # the page leaves digits out
    else:
        assert answer == wanted, where
