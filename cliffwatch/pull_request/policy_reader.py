"""Reads the tables of a policy file. Collects errors with their lines and goes on."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cliffwatch.catalogue.toml_lines import Place, line_of, problem_at_key
from cliffwatch.counting import count_noun
from cliffwatch.parsers.readings import Problem
from cliffwatch.trees.addresses import refuse_branch

_SUITE = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_LABEL = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:\[bot\])?")

_FORMS: Mapping[str, tuple[Callable[[str], object], str, int]] = {
    "suites": (_SUITE.fullmatch, "name of a suite, such as local-storage, or auto", 50),
    "follow": (
        lambda name: refuse_branch(name.replace("*", "x")) is None,
        "name or pattern of a branch, such as for-next/*",
        50,
    ),
    "runs-on": (_LABEL.fullmatch, "label of a runner, such as self-hosted", 10),
    "authors": (_LOGIN.fullmatch, "login", 1000),
}
"""By key of a list: a check of entries, a description of a valid entry, and the maximum number."""


@dataclass(slots=True)
class PolicyReader:
    """The text of a policy file with its errors."""

    text: str
    name: str
    """The file's name, for its problems."""
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, path: Place, message: str) -> None:
        problem = problem_at_key(path, message)
        line = line_of(self.text, problem.member)
        self.problems.append(replace(problem, file=self.name, line=line))

    def known(self, table: Mapping[str, object], keys: Sequence[str], path: Place) -> None:
        for name in table:
            if name not in keys:
                near = difflib.get_close_matches(name, keys, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"known here: {', '.join(keys)}"
                self.refuse((*path, name), f"unknown key {shorten_value(name)}; {hint}")

    def one_of(self, table: Mapping[str, object], allowed: Sequence[str], path: Place) -> Any:
        """Reads a word at `path`. Returns the first allowed word if it is missing or wrong."""
        value = table.get(str(path[-1]), allowed[0])
        if value in allowed:
            return value
        self.refuse(path, f"'{path[-1]}' is {shorten_value(value)}; it must be one of: {', '.join(allowed)}")
        return allowed[0]

    def several_of(
        self,
        table: Mapping[str, object],
        allowed: Sequence[str],
        default: tuple[str, ...],
        path: Place,
    ) -> Any:
        values = self.entries(table, path)
        for value in values or ():
            if value not in allowed:
                self.refuse(
                    path, f"{shorten_value(value)} in '{path[-1]}'; each must be one of: {', '.join(allowed)}"
                )
        return default if values is None else tuple(values)

    def names(self, table: Mapping[str, object], path: Place) -> tuple[str, ...] | None:
        """Reads the list at `path` and checks each entry; None if it is missing."""
        values = self.entries(table, path)
        if values is None:
            return None
        form, words, most = _FORMS[str(path[-1])]
        for value in values:
            if not isinstance(value, str) or not form(value):
                self.refuse(path, f"{shorten_value(value)} in '{path[-1]}' is no {words}")
        if len(values) > most:
            self.refuse(
                path,
                f"'{path[-1]}' has {count_noun(len(values), 'entry', 'entries')}; at most {most} will do",
            )
        return tuple(map(str, values))

    def entries(self, table: Mapping[str, object], path: Place) -> list[Any] | None:
        values = table.get(str(path[-1]))
        if values is None or isinstance(values, list):
            return values
        self.refuse(path, f"'{path[-1]}' must be a list, such as {path[-1]} = [\"…\"]")
        return None

    def table(self, value: Any, path: Place) -> Mapping[str, object]:
        if isinstance(value, dict):
            return value
        self.refuse(path, f"'{path[0]}' must be a table")
        return {}


def shorten_value(value: Any) -> str:
    """Returns a value from the file on one line, in ASCII and shortened."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
