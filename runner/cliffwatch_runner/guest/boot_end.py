"""Determines how a boot ended: from the guest's files, its watch, and the limits that it hit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cliffwatch.failure import Failure
from cliffwatch.parsers.splats import Splat, find_splats
from cliffwatch_runner import process
from cliffwatch_runner.guest.files import TakenFiles, current_case, read_guest_file
from cliffwatch_runner.guest.watch import GuestWatch

BootStatus = Literal["complete", "refused", "panic", "hang", "lost", "too-much-output", "stopped", "starved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootEnd:
    """How a start of a guest ended."""

    status: BootStatus
    """"starved" is the host's fault: it gave the guest too little CPU time."""

    seconds: float
    last_case: str | None
    """The case that had begun but not ended; None if there is none."""

    splats: tuple[Splat, ...]
    evidence: str
    """The guest's reason to refuse, a splat or the end of the console; empty if the boot is complete."""

    unexpected_files: tuple[str, ...]
    """Files that the agent does not write, and truncated files. The former were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What remained after a guest."""

    taken: TakenFiles
    too_much: Failure | None
    """The limit on its files that the guest exceeded; None if it exceeded none."""

    kept: tuple[str, ...]
    """Names that could not be removed."""

    limit: Failure | None
    """The host's limit at which the emulator was ended; None if it hit none."""


def make_boot_end(folder: Path, ended: process.Finished, watch: GuestWatch, left: Remains) -> BootEnd:
    console = read_guest_file(folder, "console") or ""
    dmesg = read_guest_file(folder, "dmesg")
    splats = find_splats(dmesg or console)
    refused = read_guest_file(folder, "refused", limit=4096)
    status = _status(folder, watch, refused=refused, splats=splats)
    if left.limit is not None and watch.reason is None:
        status = "starved" if left.limit.whose == "host" else "too-much-output"
    elif status == "complete" and (left.too_much is not None or left.taken.cut):
        status = "too-much-output"
    return BootEnd(
        status=status,
        seconds=ended.seconds,
        last_case=current_case(folder),
        splats=splats,
        evidence=_evidence(status, refused, splats, console, left),
        unexpected_files=(*left.taken.left_out, *left.kept),
    )


def _status(folder: Path, watch: GuestWatch, *, refused: str | None, splats: tuple[Splat, ...]) -> BootStatus:
    if watch.reason is not None:
        return watch.reason
    if refused:
        return "refused"
    if any(splat.panic for splat in splats):
        return "panic"
    return "complete" if read_guest_file(folder, "done") is not None else "lost"


def _evidence(
    status: BootStatus, refused: str | None, splats: tuple[Splat, ...], console: str, left: Remains
) -> str:
    if status == "complete":
        return ""
    if status == "refused":
        return refused or ""
    if left.limit is not None:
        return "\n".join([left.limit.message, *console.splitlines()[-30:]])
    if splats:
        return splats[0].text
    tail = console.splitlines()[-30:]
    if status == "too-much-output":
        too_much = str(left.too_much or "a file that the guest wrote is too large")
        return "\n".join([too_much, *tail])
    return "\n".join(tail)
