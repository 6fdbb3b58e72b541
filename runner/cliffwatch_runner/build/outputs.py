"""What a build leaves for us: named files of limited size, copied out of its reach before anything is made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_runner.failure import Failure
from cliffwatch_runner.sandbox.untrusted_files import NotTaken, UntrustedFolder

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A file below the build's output folder, the name that its copy gets, and the most bytes that it may have."""

    path: str
    name: str
    bytes: int
    mode: int = 0o644


def take(outputs: Sequence[Output], folder: UntrustedFolder, to: Path) -> Failure | None:
    """Copies all outputs to a folder of the host, or says which one is missing or unfit. Raises OSError on a full disk."""
    for output in outputs:
        missing = folder.copy(output.path, to / output.name, limit=output.bytes, mode=output.mode)
        if missing is not None:
            return not_taken(missing)
    return None


def not_taken(what: NotTaken) -> Failure:
    """The failure of a build that ended well and left something else than the file that it makes."""
    return Failure(
        whose="kernel",
        message=f"it builds, but {what.name} in its output {what.reason}",
        next_step="look at the rule that makes it in the tree's Makefiles",
    )
