"""What a command loads before it does anything: help of all is read from their source, and nothing loads what
it does not need.
"""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import click
import numpy as np
import pytest

from cliffwatch.command.main import ENTRY_POINT_GROUP, OWN, main

_LOADED = (
    "import sys; sys.argv = ['cliffwatch', *sys.argv[1:]]\nfrom cliffwatch.command.main import main\ntry:\n  "
    "  main()\nfinally:\n    print(*sorted(sys.modules), file=sys.stderr)"
)
_SERVICE = {"cliffwatch_service.api", "fastapi", "psycopg", "structlog"}
_RUNNER = {"cliffwatch_runner.build", "cliffwatch_runner.run"}


def loaded(*arguments: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments], check=True, capture_output=True, text=True
    )
    return set(ended.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["suites"], ["suites", "show", "bloom"]])
def test_a_light_command_loads_no_numbers_no_runner_and_no_service(arguments: list[str]) -> None:
    assert not loaded(*arguments) & ({"numpy", "scipy"} | _RUNNER | _SERVICE)


@pytest.mark.parametrize("name", ["compare", "parse", "doctor", "cache", "submit", "token", "backup"])
def test_help_of_one_command_loads_no_scipy_and_not_the_others(name: str) -> None:
    others = _SERVICE - {"psycopg", "structlog"} | {"scipy"}

    assert not loaded(name, "--help") & others


NOT_OF_A_COMPARISON = {
    *("scipy", "pydantic", "jinja2", "rich", "email", "tomllib", "importlib.metadata", "tempfile"),
    *(
        "numpy.ma",
        "numpy.polynomial",
        "cliffwatch.catalogue.load",
        "cliffwatch.stats.curves",
        "cliffwatch.reports.html",
    ),
}


def test_a_plain_comparison_loads_neither_scipy_nor_what_other_reports_and_commands_need(
    tmp_path: Path,
) -> None:
    generator = np.random.default_rng(1)
    for side in ("base", "head"):
        values = 1000 * np.exp(generator.normal(0, 0.02, (2, 21)))
        lines = (f"BenchmarkM{row}-8 1 {value:.4f} ns/op\n" for row in (0, 1) for value in values[row])
        (tmp_path / side).write_text("".join(lines))

    assert not loaded("compare", str(tmp_path / "base"), str(tmp_path / "head")) & NOT_OF_A_COMPARISON


def test_subcommands_that_run_without_a_look_at_what_is_installed_are_entry_points() -> None:
    own = {entry.name: entry.value for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.name in OWN}

    assert own == {name: f"cliffwatch.command.{name}:{name}" for name in OWN}


def test_what_help_says_of_a_command_is_what_the_command_says_of_itself() -> None:
    context = click.Context(main)
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        listed = main.get_command(context, entry.name)
        assert listed is not None
        assert (listed.name, listed.get_short_help_str(200)) == (
            entry.name,
            entry.load().get_short_help_str(200),
        )


_THREADS = (
    "import sys\nfrom cliffwatch.command.main import main\nmain(['suites', 'show', 'bloom'],"
    " standalone_mode=False)\nimport numpy as np\nnp.ones((900, 900)) @ np.ones((900, 900))\nfrom pathlib"
    " import Path\nprint(len(list(Path('/proc/self/task').iterdir())), file=sys.stderr)"
)


def test_products_of_matrices_take_one_thread() -> None:
    """Small ones wait for one another's threads on busy cores; whoever sets another number has it."""
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}

    def threads(**more: str) -> int:
        command = [sys.executable, "-c", _THREADS]
        ended = subprocess.run(command, check=True, capture_output=True, text=True, env={**env, **more})
        return int(ended.stderr)

    assert threads() == 1
    assert threads(OPENBLAS_NUM_THREADS="2") == min(2, os.cpu_count() or 1)
