"""Markdown as GitHub shows it in a comment: its own renderer, and then its own look at the text outside of
code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

LINKED = re.compile(
    r"@[A-Za-z0-9]|#\d|\bGH-\d|\b[0-9a-f]{7,40}\b|\bwww\.|://|:[a-z0-9_+-]+:|\$[^$\s]|\[[ x]\]", re.IGNORECASE
)
"""What GitHub turns into a mention, a reference, a commit, a link, an emoji, a formula or a box, in text that
is no code.
"""

_EXTENSIONS = ["table", "autolink", "strikethrough", "tagfilter", "tasklist"]


def html(markdown: str) -> str:
    """Lines of a comment break where they are broken, and HTML is let through to GitHub's filter."""
    text: str = cmarkgfm.markdown_to_html_with_extensions(
        markdown, options=Options.CMARK_OPT_HARDBREAKS | Options.CMARK_OPT_UNSAFE, extensions=_EXTENSIONS
    )
    return text


@dataclass
class Shown:
    """What a page has: `elements` by name with their attributes, and the text outside of code, piece by
    piece.
    """

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.elements}

    def linked(self) -> list[str]:
        """Pieces of text of which GitHub would make something."""
        return [piece for piece in self.text if LINKED.search(piece)]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shown = Shown()
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shown.elements.append((tag, dict(attrs)))
        if tag not in ("br", "hr", "img", "input"):
            self.inside.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shown.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        held = self.shown.code if {"code", "pre", "a"} & set(self.inside) else self.shown.text
        held.append(data)

    def handle_comment(self, data: str) -> None:
        self.shown.comments.append(data)


def shown(markdown: str) -> Shown:
    """What a reader of the comment gets. Every element that begins must end where it should."""
    reader = _Reader()
    reader.feed(html(markdown))
    reader.close()
    assert reader.inside == []
    return reader.shown


def prose(markdown: str) -> Iterator[str]:
    """Lines that are neither of a table nor of code nor one address."""
    fence = ""
    for line in markdown.splitlines():
        if fence or line.startswith("```"):
            fence = line.rstrip("abcdefghijklmnopqrstuvwxyz") if not fence else "" if line == fence else fence
        elif "|" not in line and not re.search(r"<https?://[^>]*>$", line):
            yield line
