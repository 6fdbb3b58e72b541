"""Demonstration runs in the form in which hosts upload them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cliffwatch.formats.code.differences import CodeRecord
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson


@dataclass(frozen=True, slots=True)
class DemoBoot:
    """A boot to upload."""

    number: int
    upload: FreeJson
    """The boot's JSON, as a BootUpload."""

    raw: bytes | None = None
    """The raw outputs as a tar archive; None if there are none."""


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A run with its boots."""

    host: str
    record: RunRecord
    boots: Sequence[DemoBoot]
    received: datetime
    """The upload time to record."""

    code: CodeRecord | None = None
    """Differences between the kernels' code; None if unknown."""
