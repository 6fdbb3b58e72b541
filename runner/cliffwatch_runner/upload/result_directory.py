"""Uploads a result directory to the service, boot by boot. Boots that the service has are not sent again."""

import io
import stat
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from cliffwatch.failure import HttpFailure
from cliffwatch.formats.code.differences import CodeRecord
from cliffwatch.formats.code.shortening import LARGEST_BYTES, shorten_code
from cliffwatch.formats.reading import convert_to, document_text, read_as
from cliffwatch.formats.values import Part
from cliffwatch.identities import run_digest
from cliffwatch.parsers.readings import Problem
from cliffwatch_runner.guest.files import MOST_ENTRIES, entries_below, open_regular, read_bytes
from cliffwatch_runner.upload.answers import StoredBoot, StoredRun
from cliffwatch_runner.upload.client import Answered, Client, Reply, unreached

_FILES = ("boot.json", "environment.json", "samples.json")
_CODE = "code.json"
_LARGEST_RAW = 48 << 20
_MOST_FILES = 10_000
_LONGEST_NAME = 500
_LARGEST_DOCUMENT = 64 << 20
"""Limit of the service."""

_DAMAGED = 422
"""Status for a file on disk that cannot be read, as a service that got it would answer."""

NEVER_STORED = frozenset({400, 409, 413, 422})
"""Refusals of the content, which would be refused again. Others concern the service, its URL or the token."""

P = TypeVar("P", bound=Part)


class _Object(Part, frozen=True, kw_only=True):
    """Any JSON object. The service checks its members."""


class _RunNamed(Part, frozen=True, kw_only=True):
    """The members of run.json that identify the run."""

    identity: str
    created: str


class _BootNamed(Part, frozen=True, kw_only=True):
    index: int


class _Measured(Part, frozen=True, kw_only=True):
    """The members of samples.json, sent unchanged."""

    samples: msgspec.Raw
    outcomes: msgspec.Raw
    problems: msgspec.Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """The result of an upload."""

    run: str
    """Digest of the run."""

    sent: int
    """Number of boots that were sent."""

    refused: tuple[str, ...] = ()
    """What the service refused, with the reason."""

    lacks: str = ""
    """What was not sent of code.json, which is too large for the service; empty if nothing."""


def upload_run(
    client: Client,
    folder: Path,
    host: str,
    *,
    job: str | None = None,
) -> Uploaded | HttpFailure:
    """Uploads what `folder` holds so far. Repeated calls resume: boots that the service has are not sent.

    A damaged file or a refused boot is reported in `refused`; the others are still sent.
    """
    try:
        record = _content(folder, "run.json")
        named = _read(record, "run.json", _RunNamed)
    except (OSError, ValueError) as error:
        return _damaged("run.json", error)
    run = run_digest(named.identity, named.created, host)
    reply = client.put(f"/runs/{run}", _text({"host": host, "record": msgspec.Raw(record), "job": job}))
    if not isinstance(reply, Answered):
        return reply
    known = client.get(f"/runs/{run}")
    if not isinstance(known, Answered):
        return known
    stored = convert_to(known.body, StoredRun)
    if isinstance(stored, Problem):
        return unreached(f"{client.url} did not answer with a run: {stored}")
    return _send_results(client, run, folder, {boot.number: boot for boot in stored.boots})


def _send_results(
    client: Client, run: str, folder: Path, here: Mapping[int, StoredBoot]
) -> Uploaded | HttpFailure:
    """Uploads code.json and the boots that the service does not have (`here`)."""
    sent = 0
    refused: list[str] = []
    for boot in sorted((folder / "boots").glob("*/boot.json")):
        outcome = _boot(client, run, boot.parent, here)
        if isinstance(outcome, HttpFailure) and outcome.status in NEVER_STORED:
            refused.append(f"{boot.parent.name}: {outcome.message}")
        elif not isinstance(outcome, bool):
            return outcome
        else:
            sent += outcome
    code = _send_code(client, run, folder)
    if isinstance(code, str):
        return Uploaded(run=run, sent=sent, refused=tuple(refused), lacks=code)
    if code.status not in NEVER_STORED:
        return code
    return Uploaded(run=run, sent=sent, refused=(*refused, f"{_CODE}: {code.message}"))


def _send_code(client: Client, run: str, folder: Path) -> HttpFailure | str:
    """Uploads how the kernels' code differs, which exists once a run has ended. Returns what was not sent."""
    if not (folder / _CODE).exists():
        return ""
    try:
        content, lacks = _code(folder)
    except (OSError, ValueError) as error:
        return _damaged(_CODE, error)
    reply = client.put(f"/runs/{run}/code", content)
    return lacks if isinstance(reply, Answered) else reply


def _code(folder: Path) -> tuple[bytes, str]:
    """Returns code.json as it is sent, and what that lacks. A small one is sent as it is."""
    content = _content(folder, _CODE)
    if len(content) <= LARGEST_BYTES // 4:  # the service indents it, perhaps more widely
        return content, ""
    shorter, lacks = shorten_code(_read(content, _CODE, CodeRecord))
    return (document_text(shorter) if lacks else content), lacks


def _content(folder: Path, name: str) -> bytes:
    with open_regular(folder, name) as file:
        if file is None:
            raise ValueError(f"{name} is not a regular file")
        return read_bytes(file, _LARGEST_DOCUMENT)


def _read(content: bytes, name: str, kind: type[P]) -> P:
    document = read_as(content, kind)
    if isinstance(document, Problem):
        raise ValueError(f"{name}: {document}")  # noqa: TRY004 - the file is wrong, not a type
    return document


def _text(body: Mapping[str, object]) -> bytes:
    return msgspec.json.encode(body)


def _damaged(what: str, error: Exception) -> HttpFailure:
    return HttpFailure(
        whose="usage",
        message=f"{what} cannot be read: {error!r}"[:500],
        next_step="run the measurement again",
        status=_DAMAGED,
    )


def _boot(client: Client, run: str, folder: Path, here: Mapping[int, StoredBoot]) -> bool | HttpFailure:
    """Uploads a boot if necessary. Returns True if it was sent."""
    try:
        about, environment, samples = (_content(folder, name) for name in _FILES)
        number = _read(about, "boot.json", _BootNamed).index
        body = _boot_body(about, environment, samples)
    except (OSError, ValueError) as error:
        return _damaged("the boot", error)
    stored = here.get(number)
    if stored is None:
        reply = client.put(f"/runs/{run}/boots/{number}", body)
        if not isinstance(reply, Answered):
            return reply
    if stored is None or stored.raw_digest is None:
        raw: Reply = client.put(f"/runs/{run}/boots/{number}/raw", raw_archive(folder), "application/x-tar")
        if not isinstance(raw, Answered):
            return raw
    return stored is None


def _boot_body(about: bytes, environment: bytes, samples: bytes) -> bytes:
    """Returns the three files of a boot in one document. Raises ValueError."""
    _read(environment, "environment.json", _Object)
    measured = _read(samples, "samples.json", _Measured)
    return _text(
        {
            "boot": msgspec.Raw(about),
            "environment": msgspec.Raw(environment),
            "samples": measured.samples,
            "outcomes": measured.outcomes,
            "problems": measured.problems,
        }
    )


def raw_archive(folder: Path) -> bytes:
    """Packs the boot's regular files into a tar archive that depends only on their names and contents.

    Leaves out what the service would refuse: other kinds of files, and unprintable names.
    """
    buffer = io.BytesIO()
    room = _LARGEST_RAW
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in _raw_names(folder)[:_MOST_FILES]:
            with open_regular(folder, name) as file:
                if file is None:
                    continue
                content = read_bytes(file, room)
            room -= len(content)
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _raw_names(folder: Path) -> list[str]:
    names = [
        entry.name
        for entry in islice(entries_below(folder), MOST_ENTRIES)
        if entry is not None
        and stat.S_ISREG(entry.about.st_mode)
        and entry.name not in _FILES
        and entry.name.isprintable()
        and len(entry.name) <= _LONGEST_NAME
    ]
    return sorted(names, key=lambda name: name.split("/"))
