"""The `run` command, called as a user calls it."""

from pathlib import Path

from click.testing import CliRunner, Result
from isolation_here import ISOLATION, leave_out_root

from cliffwatch.command.main import main


def cliffwatch(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def run(repository: Path, *arguments: object, base: str = "v6.12", head: str = "HEAD") -> Result:
    leave_out_root()
    folders = ["--cache", repository.parent / "cache", "--out", repository.parent / "results"]
    plain = [
        "run",
        "--tree",
        repository,
        "--base",
        base,
        "--head",
        head,
        "--mode",
        "icount",
        "--boots",
        1,
        *folders,
    ]
    plain += ["--suite", "local-storage"]
    return cliffwatch(*plain, "--isolation", ISOLATION, *arguments)
