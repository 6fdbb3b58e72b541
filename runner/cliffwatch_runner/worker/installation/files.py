"""The files of an installation: their content, and how to recognise them."""

import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cliffwatch_runner.host.journal import JOURNAL
from cliffwatch_runner.host.tuning_helper import INSTALLED, write_helper
from cliffwatch_runner.worker.installation.order import InstallationOrder

_PLAIN = re.compile(r"[\w/.:=+@,-]+", re.ASCII)


def unit_word(value: object) -> str:
    """Quotes one word of a setting or command.

    Raises ValueError for unprintable text, which callers must reject earlier.
    """
    text = str(value)
    if not text.isprintable():
        raise ValueError(f"{text!a} cannot be written into a unit")
    escaped = text.replace("%", "%%")
    if _PLAIN.fullmatch(escaped):
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'


def command_words(words: Iterable[object]) -> str:
    """Quotes a command. A `$` in it is not expanded."""
    return " ".join(unit_word(str(word).replace("$", "$$")) for word in words)


USER = "cliffwatch"
STATE = Path("/var/lib/cliffwatch-worker")
SPOOL = STATE / "spool"
CACHE = Path("/var/cache/cliffwatch-worker")
TOKEN = JOURNAL.parent / "worker.token"
"""In a folder of root's: the worker's user can read the token but cannot replace it."""

WORKER_UNIT, DOCTOR_UNIT, TIMER = (
    Path("/etc/systemd/system", name)
    for name in ("cliffwatch-worker.service", "cliffwatch-doctor.service", "cliffwatch-doctor.timer")
)
SYSUSERS = Path("/etc/sysusers.d/cliffwatch.conf")
TMPFILES = Path("/etc/tmpfiles.d/cliffwatch.conf")
SUDOERS = Path("/etc/sudoers.d/cliffwatch-worker")
RULE_BY_HAND = Path("/etc/sudoers.d/cliffwatch-tune")
"""The rule of docs/host.md for another user who may tune. It uses the helper, too."""

_MARK = b"# Written by `cliffwatch host install`"
_HELPER_MARK = b"#!/usr/bin/python3 -IS\nPK"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

Kind = Literal["text", "secret", "program"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFile:
    """A file to install."""

    path: Path
    """Below the host's root."""

    content: bytes
    mode: int
    kind: Kind = "text"
    """A `secret` is never shown; a `program` is not text."""


PATHS: dict[Path, Kind] = {
    TOKEN: "secret",
    INSTALLED: "program",
    SUDOERS: "text",
    SYSUSERS: "text",
    TMPFILES: "text",
    DOCTOR_UNIT: "text",
    TIMER: "text",
    WORKER_UNIT: "text",
}
"""All files that an installation may have written, in the order of writing."""

_TEXTS = {
    SYSUSERS: "cliffwatch.sysusers",
    TMPFILES: "cliffwatch.tmpfiles",
    DOCTOR_UNIT: "cliffwatch-doctor.service",
    TIMER: "cliffwatch-doctor.timer",
    WORKER_UNIT: "cliffwatch-worker.service",
}

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=False,  # noqa: S701 - units and rules are not HTML; values are quoted for systemd
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_TEMPLATES.filters.update(word=unit_word, words=command_words)


def wanted_files(order: InstallationOrder) -> tuple[WantedFile, ...]:
    """Returns the files of this installation. A host without walltime runs gets no tuning helper."""
    made = {
        TOKEN: WantedFile(path=TOKEN, content=f"{order.token}\n".encode(), mode=0o600, kind="secret"),
        **{path: _text(path, template, order) for path, template in _TEXTS.items()},
    }
    if order.tunes:
        made[INSTALLED] = WantedFile(path=INSTALLED, content=_helper(), mode=0o755, kind="program")
        made[SUDOERS] = _text(SUDOERS, "cliffwatch-worker.sudoers", order, mode=0o440)
    return tuple(made[path] for path in PATHS if path in made)


def is_ours(path: Path, content: bytes) -> bool:
    """True if an installation wrote the file. Files that an administrator wrote are left alone."""
    marks = {"text": _MARK, "program": _HELPER_MARK, "secret": b""}
    return content.startswith(marks[PATHS[path]])


def _text(path: Path, template: str, order: InstallationOrder, mode: int = 0o644) -> WantedFile:
    text = _TEMPLATES.get_template(template).render(
        user=USER,
        state=STATE,
        cache=CACHE,
        root_folder=TOKEN.parent,
        token=TOKEN,
        helper=INSTALLED,
        tunes=order.tunes,
        path=f"{order.program.parent}:{_SYSTEM_PATH}",
        stop_seconds=round(order.hours * 3600),
        worker=_worker(order),
        doctor=_doctor(order),
    )
    return WantedFile(path=path, content=text.encode(), mode=mode)


def _worker(order: InstallationOrder) -> list[object]:
    modes = [word for mode in order.modes for word in ("--mode", mode)]
    head = [
        order.program,
        "worker",
        "--url",
        order.url,
        "--name",
        order.name,
        "--platform",
        order.platform,
        *modes,
    ]
    return [*head, "--hours", f"{order.hours:g}", "--token-file", TOKEN, "--cache", CACHE, "--spool", SPOOL]


def _doctor(order: InstallationOrder) -> list[object]:
    mode = "walltime" if order.tunes else "icount"
    return [order.program, "doctor", "--mode", mode, "--cache", CACHE, "--unless-measuring"]


def _helper() -> bytes:
    with tempfile.TemporaryDirectory(prefix="cliffwatch-helper-") as folder:
        file = Path(folder) / INSTALLED.name
        write_helper(file)
        return file.read_bytes()
