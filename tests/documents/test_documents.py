"""The documents are true: links lead somewhere, commands have the options that are named, messages are those
of the code.
"""

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import rich_click as click
from click.testing import CliRunner

from cliffwatch.command.main import main

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
CODE = ("cliffwatch", "runner", "service", "tools", "Makefile")

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """As the hosts of repositories make them of headings."""
    prose = _FENCE.sub("", page.read_text())
    heads = re.findall(r"^#+ +(.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_what_is_there(page: Path) -> None:
    prose = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page.read_text()))
    for link in _LINK.findall(prose):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: {target.name} has no such heading"


@cache
def names_of_tests() -> frozenset[str]:
    tests = (path.read_text() for path in ROOT.glob("tests/**/*.py"))
    return frozenset(name for text in tests for name in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_tests_that_are_named_are_there(page: Path) -> None:
    """A claim of the threat model without its test is a wish."""
    named = set(re.findall(r"(?:::|`)(test_\w+)(?=[`:\s])", page.read_text()))
    assert named - names_of_tests() == set()


INVENTED = {
    "cliffwatch/parsers/bench/kinds/trie_lookup.py",
    "service/cliffwatch_service/web/work/toolchains.py",
    "service/cliffwatch_service/web/templates/work/toolchains.html",
}
"""New files of the changes that CONTRIBUTING walks through."""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_sources_that_are_named_are_there(page: Path) -> None:
    text = _FENCE.sub("", page.read_text())
    named = re.findall(
        r"(?<![\w/.])((?:cliffwatch|runner|service|tests|tools|db)/[\w/.-]+\.(?:py|sh|c|config|html))(?!\w)",
        text,
    )
    invented = INVENTED if page.name == "CONTRIBUTING.md" else set()
    assert [name for name in named if not (ROOT / name).exists() and name not in invented] == []


def test_every_document_is_reached_from_the_readme() -> None:
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        waiting += [
            (page.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(page.read_text())
        ]
    unreached = {name_of(page) for page in PAGES if page.parent == ROOT / "docs"} - {
        name_of(page) for page in seen
    }
    assert not unreached


def commands(page: Path) -> Iterator[list[str]]:
    """Command lines of `cliffwatch` in a page's blocks and in its prose."""
    text = page.read_text()
    lines = [line for _, block in _FENCE.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"`([^`\n]+)`", _FENCE.sub("", text))
    for line in lines:
        found = re.match(r"^(?:sudo |ExecStart=|\w+=\S+ )*(?:\S*/)?cliffwatch (.*)$", line.strip())
        if found:
            words = shlex.split(re.split(r" [|>]|;|\$\(| #", found[1])[0].replace("'", ""))
            yield [word for word in words if word != "…"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_have_the_options_that_are_named(page: Path) -> None:
    for words in commands(page):
        command: click.Command = main
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            found = command.resolve_command(click.Context(command), words[:1])[1]
            assert found is not None, f"there is no `cliffwatch {shlex.join(words)}`"
            command = found
            del words[0]
        known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
        known |= {"--help", "--version"}
        for word in words:
            option = word.partition("=")[0]
            assert not option.startswith("--") or option in known, f"{command.name} has no {option}"


@cache
def said_by_the_code() -> str:
    """All texts of the code, with … where something is put in."""
    texts = []
    for path in (each for place in CODE for each in [ROOT / place, *(ROOT / place).rglob("*")]):
        if path.suffix == ".py":
            texts += list(_texts(ast.parse(path.read_text())))
        elif path.suffix == ".sh" or path.name == "Makefile":
            texts.append(re.sub(r"\$\w+|\$\(.*?\)|\$\{.*?\}", "…", path.read_text()))
    return "\n".join(texts)


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(each.value if isinstance(each, ast.Constant) else "…" for each in node.values)


def messages() -> list[str]:
    """The first column of every table of the page."""
    page = (ROOT / "docs/troubleshooting.md").read_text()
    cells = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| ")]
    return [message for cell in cells for message in re.findall(r"`([^`]+)`", cell)]


def test_the_page_of_troubles_has_messages() -> None:
    assert len(messages()) > 40


@pytest.mark.parametrize("message", messages())
def test_messages_of_troubles_are_said_by_the_code(message: str) -> None:
    """Each whole stretch between two `…`; what is put in there may be a text of its own."""
    missing = [part for part in map(str.strip, message.split("…")) if part and part not in said_by_the_code()]
    assert not missing, f"no message of the code has {missing}"


def outline(report: str) -> list[str]:
    """A report without what differs from machine to machine: its figures, and names that are digests."""
    somewhere = re.sub(r"^Results: .*$", "Results: FOLDER", report, flags=re.MULTILINE)
    without = re.sub(r"\b[0-9a-f]{12}\b|[-+]?\d+(?:\.\d+)*", "#", somewhere)
    return [re.sub(r"\s+", " ", line).strip() for line in without.strip().splitlines()]


@pytest.mark.parametrize("page", ["README.md", "docs/reading-a-verdict.md"])
def test_the_sample_of_a_report_is_what_is_printed(page: str, data: Path, tmp_path: Path) -> None:
    """Of the same two kernels, measured another time: lines, columns, verdicts and footer are the same."""
    run = tmp_path / "run"
    shutil.copytree(data / "runs/uninlined", run)
    shutil.copyfile(data / "uninlined.code.json", run / "code.json")
    printed = CliRunner().invoke(main, ["compare", str(run)], catch_exceptions=False).output
    samples = [
        block for _, block in _FENCE.findall((ROOT / page).read_text()) if block.startswith("5 slower")
    ]
    assert [outline(sample) for sample in samples] == [outline(printed)]
