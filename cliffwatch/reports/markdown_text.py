"""Text of somebody else's making inside Markdown: whatever stands in it, it stays text.

Code is where GitHub makes no mention, reference, link, emoji, formula or element of anything; so that is where such text goes.
"""

import re
import textwrap

from cliffwatch.reports.styles import plain, visible

WIDTH = 72
"""Columns of a mail, where reports in Markdown are read too."""

_WORD = re.compile(r"(?!.*\bGH-)[A-Za-z][A-Za-z0-9 /%-]{0,39}", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"[0-9a-f]{7}", re.IGNORECASE)
_WHOLE = re.compile(r"`[^`\n]*`|(?<=\d) %")
_COMMAND = re.compile(r"^(\s*):(?=:)|##(?=\[)", re.MULTILINE)
_BETWEEN = "\N{ZERO WIDTH SPACE}"
_HELD = "\x01"


def code(text: str, most: int = 200) -> str:
    """A line as code, of at most `most` characters; `?` for nothing. It has no backtick, no bar and no line break, so that it stays whole
    in a table and when it is wrapped.
    """
    line = plain(" ".join(text.split())).replace("`", "'").replace("|", "¦")
    shortened = line if len(line) <= most else f"{line[: most - 1]}…"
    return f"`{shortened.strip() or '?'}`"


def word(text: str) -> str:
    """A unit, the name of a metric or of a target: as it is where it is nothing but words, else as code."""
    harmless = _WORD.fullmatch(text) and not _HEXADECIMAL.search(text) and not text.endswith(" ")
    return text if harmless else code(text, 60)


def block(text: str, *, lines: int, columns: int = 400, language: str = "") -> list[str]:
    """Lines of code in a fence that nothing in them can end. What is cut off is said."""
    shown = [plain(line.expandtabs())[:columns].rstrip() for line in text.splitlines()]
    left = len(shown) - lines
    shown = shown[:lines] + ([f"… {left} more lines"] if left > 0 else [])
    longest = max((len(run) for run in re.findall(r"`+", "\n".join(shown))), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *shown, fence]


def wrapped(text: str, *, first: str = "", then: str = "") -> str:
    """Sentences in lines of `WIDTH` columns. Code is never broken, so that no line begins with what stands in it."""
    held = _WHOLE.sub(lambda match: match[0].replace(" ", _HELD), " ".join(text.split()))
    filled = textwrap.fill(
        held, WIDTH, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
    return filled.replace(_HELD, " ")


def inert(markdown: str) -> str:
    """The whole of a report: nothing that is not seen, and no line that a workflow's log would take for a command."""
    return _COMMAND.sub(lambda match: (f"{match[1]}:" if match[1] is not None else "##") + _BETWEEN, visible(markdown))


def length(text: str) -> int:
    """Characters as GitHub counts them at most: units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
