"""Recorded uploads: published results (published/README.md) and made-up walltime runs: weeks of history.

recorded.jsonl.zst has one run per line. Times are in seconds relative to the filling (so below 0). Levels of
made-up runs come from the published local-storage table, their noise is random; notes of each run say so.
"""

import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib import resources
from typing import Literal

import orjson
import zstandard

from cliffwatch.formats.reading import convert
from cliffwatch.formats.run_record import RunRecord
from cliffwatch_service.command.demonstration.demo_run import DemoBoot, DemoRun

Kind = Literal["published", "elsewhere", "history", "pull request"]
"""`elsewhere`: kernels of measured.py on other platforms. The others say where their revisions come from."""


def recorded_runs(kind: Kind, now: datetime) -> Iterator[DemoRun]:
    """Yields the runs of one kind, in the order of their revisions."""

    def at(seconds: float) -> datetime:
        return now + timedelta(seconds=seconds)

    packed = (resources.files("cliffwatch_service.command.demonstration") / "recorded.jsonl.zst").read_bytes()
    for line in io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(packed)):
        run = orjson.loads(line)
        if run["kind"] != kind:
            continue
        for about in (boot["boot"] for boot in run["boots"]):
            about |= {name: at(about[name]).isoformat() for name in ("began", "ended")}
        run["record"]["created"] = at(run["record"]["created"]).isoformat()
        boots = [DemoBoot(boot["boot"]["index"], boot) for boot in run["boots"]]
        yield DemoRun(run["host"], convert(run["record"], RunRecord), boots, at(run["received"]))
