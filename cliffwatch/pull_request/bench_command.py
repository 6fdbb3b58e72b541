"""Parses `/bench` commands in comments: run, again, cancel, help and bisect."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.setup import MOST_ASKED_LAYOUTS, TIME_CHOICES, parse_time
from cliffwatch.samples import BOOTS_WORDS, MODES, Mode
from cliffwatch.trees.addresses import refuse_branch

Verb = Literal["run", "again", "cancel", "help", "bisect"]

HELP = (
    "`/bench [suite=A,B] [platform=P,Q] [mode=icount] [boots=21] [layouts=4] [time=20m] [base=REV]`,"
    " `/bench again [case=C,D]`, `/bench bisect case=C`, `/bench cancel`, `/bench help`"
)
"""One line of help, in Markdown."""

MOST_BOOTS = 200
_MOST_VALUES = 16
_LONGEST_LINE = 1000

_LINES = re.compile(r"\r\n|\n|\r")
"""The line endings of Markdown. At any other separator, a quoted text must not start an unquoted line."""

_COMMAND = re.compile(r" {0,3}/bench(?:\s|$)", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_CASE = re.compile(r"[A-Za-z0-9*][A-Za-z0-9._/=*:+-]{0,199}", re.ASCII)

_KEYS: Mapping[Verb, tuple[str, ...]] = {
    "run": ("suite", "platform", "mode", "boots", "layouts", "time", "base"),
    "again": ("case", "platform", "mode", "boots", "layouts", "time"),
    "bisect": ("case", "platform", "mode"),
    "cancel": (),
    "help": (),
}
_FORMS: Mapping[str, Callable[[str], object]] = {
    "suite": _NAME.fullmatch,
    "platform": _NAME.fullmatch,
    "mode": re.compile("|".join(MODES)).fullmatch,
    "boots": lambda boots: boots in BOOTS_WORDS or boots in map(str, range(1, MOST_BOOTS + 1)),
    "layouts": lambda number: number in map(str, range(1, MOST_ASKED_LAYOUTS + 1)),
    "time": lambda time: parse_time(time) is not None,
    "base": lambda name: refuse_branch(name) is None,
    "case": _CASE.fullmatch,
}
_EXPECTED: Mapping[str, str] = {
    "suite": "names of suites, separated by commas",
    "platform": "names of platforms, separated by commas",
    "mode": " or ".join(f"`{mode}`" for mode in MODES),
    "boots": f"a number up to {MOST_BOOTS} or one of {', '.join(f'`{each}`' for each in BOOTS_WORDS)}",
    "layouts": f"a number up to {MOST_ASKED_LAYOUTS}",
    "time": TIME_CHOICES,
    "base": "one commit, tag or branch and no range: a branch means its merge base with the pull request",
    "case": "names of cases, separated by commas, `*` for any part of a name",
}
_SINGLE = ("boots", "layouts", "time", "base")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCommand:
    """A command with its values. A value that the comment does not give is empty or None.

    Every value has the length and the characters of a name: it is never an option, a path or a revision
    range. The named suite, platform, case or revision need not exist.
    """

    verb: Verb
    suites: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()
    boots: str | None = None
    """A number or a word for `cliffwatch run --boots`."""
    layouts: int | None = None
    seconds: float | None = None
    """Time for boots and links in walltime."""
    base: str | None = None
    """A commit, tag or branch."""
    cases: tuple[str, ...] = ()
    """Names of cases; `*` stands for any part of a name."""


def parse_bench_command(comment: str) -> BenchCommand | Failure | None:
    """Parses the first command of a comment in Markdown; None if the comment has none.

    A failure is one line of Markdown and repeats no text of the comment.

    A command stands on a line of its own, outside quotes, code and HTML comments.
    """
    line = next((line for line in _plain_lines(comment) if _COMMAND.match(line)), None)
    if line is None:
        return None
    words = line[:_LONGEST_LINE].split()[1:]
    if len(line) > _LONGEST_LINE:
        return _refuse("the line is too long")
    verb: Verb = "run"
    if words and "=" not in words[0]:
        if words[0].lower() not in ("again", "bisect", "cancel", "help"):
            return _refuse("there is no such command")
        verb = cast(Verb, words.pop(0).lower())
    values = _read_values(verb, words)
    if isinstance(values, Failure):
        return values
    if verb == "bisect" and "case" not in values:
        return _refuse("`bisect` needs a `case=`")
    return BenchCommand(
        verb=verb,
        suites=values.get("suite", ()),
        platforms=values.get("platform", ()),
        modes=cast(tuple[Mode, ...], values.get("mode", ())),
        boots=next(iter(values.get("boots", ())), None),
        layouts=next(map(int, values.get("layouts", ())), None),
        seconds=next(map(parse_time, values.get("time", ())), None),
        base=next(iter(values.get("base", ())), None),
        cases=values.get("case", ()),
    )


def _plain_lines(comment: str) -> Iterator[str]:
    """Yields the lines outside quotes, code and HTML comments."""
    fence, hidden = "", False
    for line in _LINES.split(comment):
        if hidden:
            hidden = "-->" not in line
            continue
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif mark is not None:
            fence = mark[1]
        elif "<!--" in line:
            hidden = "-->" not in line.rpartition("<!--")[2]
        elif not line.lstrip(" ").startswith(">"):
            yield line


def _read_values(verb: Verb, words: list[str]) -> dict[str, tuple[str, ...]] | Failure:
    """Returns the values by key, without duplicates."""
    values: dict[str, tuple[str, ...]] = {}
    for word in words:
        key, sign, text = word.partition("=")
        key = key.lower()
        if not sign or key not in _KEYS[verb]:
            allowed = ", ".join(f"`{each}=`" for each in _KEYS[verb])
            return _refuse(
                f"it takes {allowed}, without blanks around the sign" if allowed else "it takes nothing more"
            )
        if key in values:
            return _refuse(f"`{key}=` may stand once")
        given = tuple(dict.fromkeys(text.split(",")))
        fits = all(_FORMS[key](each) for each in given)
        if not fits or len(given) > (1 if key in _SINGLE else _MOST_VALUES):
            return _refuse(f"`{key}=` takes {_EXPECTED[key]}")
        values[key] = given
    return values


def _refuse(what: str) -> Failure:
    return wrong_usage(f"That is no command: {what}.", HELP)
