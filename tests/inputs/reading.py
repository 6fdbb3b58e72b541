"""What `cliffwatch parse` says of a text."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from cliffwatch.command.main import main

CASES = Path(__file__).parents[1] / "data/inputs"


class Read(NamedTuple):
    """`values` are (benchmark/params, metric, value, unit), `problems` their reasons."""

    values: list[tuple[str, str, float, str]]
    problems: list[str]
    exit_code: int

    def of(self, metric: str) -> list[tuple[str, float]]:
        return [(case, value) for case, name, value, _ in self.values if name == metric]


def read(name: Path | str | bytes) -> Read:
    """Of a file, or of a content."""
    arguments, stdin = ([str(name)], None) if isinstance(name, Path) else (["-"], name)
    ended = CliRunner().invoke(
        main, ["parse", "--format", "json", *arguments], input=stdin, catch_exceptions=False
    )
    document: dict[str, Any] = json.loads(ended.stdout)
    values = [
        (
            "/".join([row["benchmark"], *(f"{name}={text}" for name, text in row["params"].items())]),
            row["metric"],
            round(row["value"], 6),
            row["unit"],
        )
        for row in document["values"]
    ]
    return Read(values, [each["reason"] for each in document["problems"]], ended.exit_code)


def compared(*arguments: object) -> dict[str, Any]:
    command = ["compare", *map(str, arguments), "--format", "json"]
    document: dict[str, Any] = json.loads(CliRunner().invoke(main, command, catch_exceptions=False).stdout)
    return document
