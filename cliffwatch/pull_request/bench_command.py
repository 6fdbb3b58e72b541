"""What people ask for in comments: `/bench`, `/bench again case=…`, `/bench cancel`, `/bench help`, `/bench bisect`."""

from dataclasses import dataclass
from typing import Literal

from cliffwatch.samples import Mode

Verb = Literal["run", "again", "cancel", "help", "bisect"]

HELP = "`/bench [suite=A,B] [platform=P,Q] [mode=icount] [boots=21] [base=REV]`, `/bench again case=C`, `/bench cancel`, `/bench bisect`, `/bench help`"
"""One line of help, in Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCommand:
    """What was asked; empty and None is what was not said. `boots` is a number or a word that `cliffwatch run --boots` takes."""

    verb: Verb
    suites: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()
    boots: str | None = None
    base: str | None = None
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCommand:
    """`help` is one line of Markdown for the answer: what is wrong, and how to write it. It repeats nothing of the comment."""

    help: str


def parse_bench_command(comment: str) -> BenchCommand | WrongCommand | None:
    """The first command of a comment's Markdown; None where it has none. Quotes and code are no commands."""
    return BenchCommand(verb="run") if comment.strip() == "/bench" else None
