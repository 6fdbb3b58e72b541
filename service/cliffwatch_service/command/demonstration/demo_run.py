"""A run in the form in which hosts upload it, before it is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class DemoBoot:
    """A boot's upload, and its raw outputs as a tar archive; None where it has none."""

    number: int
    upload: Mapping[str, Any]
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A run with its boots; `received` is when it is recorded to have come in."""

    host: str
    record: Mapping[str, Any]
    boots: Sequence[DemoBoot]
    received: datetime
