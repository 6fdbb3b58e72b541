"""A run in the form in which hosts upload it, before it is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cliffwatch.formats.code.differences import CodeRecord
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson


@dataclass(frozen=True, slots=True)
class DemoBoot:
    """A boot's upload as its JSON holds it, and its raw outputs as a tar archive; None where it has none."""

    number: int
    upload: FreeJson
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A run with its boots; `received` is when it is recorded to have come in, `code` how the code of its kernels differs."""

    host: str
    record: RunRecord
    boots: Sequence[DemoBoot]
    received: datetime
    code: CodeRecord | None = None
