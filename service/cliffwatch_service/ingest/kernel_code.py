"""code.json of a run, which its host makes from the kernel images: stored once, and limited in size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch.comparing.attribution.images import code_sentence
from cliffwatch.comparing.same_code import same_code
from cliffwatch.formats.code.differences import ArmCode, CodeRecord
from cliffwatch.formats.code.digests import CodeDigests
from cliffwatch.formats.code.shortening import LARGEST_BYTES
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseKey
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.ingest.boot_document import pack_content, unpack_content
from cliffwatch_service.ingest.ingest import (
    StoreResult,
    content_digest,
    own_run,
    request_analysis_if_complete,
)
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import run_code


def put_code(connection: Connection[Any], digest: str, upload: CodeRecord, *, by: Caller) -> StoreResult:
    """Stores the code.json of a run. Raises Refusal if it is too large, or if another one is stored."""
    run = own_run(connection, digest, by)
    content = document_text(upload)
    if len(content) > LARGEST_BYTES:
        raise Refusal(
            413,
            "too much code differs",
            f"code.json has {len(content):,} bytes, but at most {LARGEST_BYTES:,} are stored:"
            " the run is complete without it",
        )
    own = content_digest(content)
    if run_code.insert_code(connection, run.id, own, pack_content(content)):
        request_analysis_if_complete(connection, digest)  # comparisons take names of functions from it
        return StoreResult(digest=own, fresh=True)
    stored = run_code.code_of_run(connection, digest)
    assert stored is not None
    if stored.digest != own:
        raise Refusal(
            409,
            "another code.json is stored",
            f"run {digest} is stored with code {stored.digest}, but this upload has {own}:"
            " a run does not change",
        )
    return StoreResult(digest=own, fresh=False)


def code_document(connection: Connection[Any], run: str) -> CodeRecord | None:
    """Returns the code.json of a run; None if it has none."""
    stored = run_code.code_of_run(connection, run)
    return None if stored is None else _read(stored.content)


def image_of(connection: Connection[Any], base: int, head: int) -> ArmCode | None:
    """Returns how the code of arm `head` differs from that of `base`, the first arm of its run.

    None if that is not stored, or if `base` is not the first arm.
    """
    stored = run_code.code_of_arms(connection, base, head)
    record = None if stored is None else _read(stored.content)
    if stored is None or record is None or stored.base in {each.arm for each in record.arms}:
        return None
    return next((each for each in record.arms if each.arm == stored.head), None)


@dataclass(frozen=True, slots=True)
class CodeOfCase:
    """The code that two arms execute in a case."""

    same: bool | None
    """None if unknown."""
    base: str
    """Code digest."""
    head: str
    """Code digest."""
    functions: int
    """Kernel functions that the digest of head covers."""


def code_of_case(connection: Connection[Any], base: int, head: int, case: CaseKey) -> CodeOfCase | None:
    """Compares two arms by the code digests of their runs; None if a run has no digest of this case."""
    (base_code, base_name), (head_code, head_name) = (_digests(connection, arm, case) for arm in (base, head))
    digests = (
        None if base_code is None else base_code.of(base_name),
        None if head_code is None else head_code.of(head_name),
    )
    if head_code is None or digests[0] is None or digests[1] is None:
        return None
    same = same_code(base_code, base_name, head_code, head_name)
    return CodeOfCase(same, digests[0], digests[1], head_code.functions)


def _digests(connection: Connection[Any], arm: int, case: CaseKey) -> tuple[CodeDigests | None, str]:
    """Returns the code digests of a case in the run of an arm, and the arm's name in that run."""
    stored = run_code.code_of_arm(connection, arm)
    record = None if stored is None else _read(stored.content)
    found = (
        None if record is None else next((each for each in record.cases if each.case == case.planned), None)
    )
    return None if found is None else found.code, "" if stored is None else stored.name


def sentences_of(connection: Connection[Any], arms: Sequence[tuple[int, int]]) -> list[tuple[int, str]]:
    """Says how the code of pairs of arms differs: (position of the pair, sentence) if it is stored."""
    images = [image_of(connection, base, head) for base, head in arms]
    return [(index, f"{code_sentence(image)}.") for index, image in enumerate(images) if image is not None]


def _read(content: bytes) -> CodeRecord | None:
    record = read_as(unpack_content(bytes(content)), CodeRecord)
    return None if isinstance(record, Problem) else record
