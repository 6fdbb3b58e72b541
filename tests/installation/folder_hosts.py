"""What the tests of installations share: the token, the command, and what lies in a folder that is a host."""

import stat
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

SECRET = "cw_9f2c41d8e07b"

Command = Callable[..., Result]


def files_of(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its mode and content."""
    return {
        f"/{path.relative_to(root)}": (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
