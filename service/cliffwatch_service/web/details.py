"""One row of a comparison on one target, down to every sample and the raw output behind it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from psycopg import Connection

from cliffwatch.identities import series_digest
from cliffwatch.reports.across import Across, Target
from cliffwatch.samples import CaseKey
from cliffwatch_service.boot_document import unpacked
from cliffwatch_service.pairing import Answer
from cliffwatch_service.store import boots, runs, series
from cliffwatch_service.web.drawing import Strip, strips
from cliffwatch_service.web.requests import Again, again_of

_MOST_SAMPLES = 1000


@dataclass(frozen=True, slots=True)
class RawLink:
    """A raw output of a boot that holds this case."""

    arm: str
    boot: int
    run: str
    path: str


@dataclass(frozen=True, slots=True)
class Detail:
    """A cell, unfolded. `series` is its digest, None where it has no history; `command` repeats the run."""

    target: Target
    row: Mapping[str, Any] | None
    series: str | None
    strips: Sequence[Strip]
    low: float
    high: float
    raw: Sequence[RawLink]
    command: str
    again: Again | None
    runs: Sequence[str]


def detail_of(
    connection: Connection[Any],
    row: Across,
    cell: Mapping[str, Any] | None,
    target: Target,
    found: Answer,
    head: Mapping[str, Any],
) -> Detail:
    case = CaseKey(row.suite, row.benchmark, tuple(row.params.items()))
    digest = series_digest(case, row.metric, row.unit, target.platform, target.mode)  # type: ignore[arg-type]
    held = series.series_by_digest(connection, digest)
    run = runs.run_row(connection, found.runs[-1])
    assert run is not None
    record = orjson.loads(unpacked(bytes(run["record"])))
    samples = [] if held is None else _samples(connection, held, found, head)
    drawn, low, high = strips(samples) if any(values for _, values in samples) else ([], 0.0, 0.0)
    return Detail(
        target=target,
        row=cell,
        series=digest if held is not None else None,
        strips=drawn,
        low=low,
        high=high,
        raw=_raw(connection, run, record, case),
        command=_command(record, row.suite, found, head),
        again=again_of(record, found.target.base["commit"], head["commit"], row.suite),
        runs=found.runs,
    )


def _samples(
    connection: Connection[Any], held: Mapping[str, Any], found: Answer, head: Mapping[str, Any]
) -> list[tuple[str, list[tuple[float, str]]]]:
    """Of each arm every boot's value and what to call it, from the runs that were compared."""
    arms = []
    for name, revision in (("base", found.target.base["id"]), ("head", head["id"])):
        rows = series.samples_of(connection, held, revision, _MOST_SAMPLES)
        mine = [row for row in rows if row["run"] in found.runs and (len(found.runs) > 1 or row["arm"] == name)]
        unit = held["unit"]
        arms.append(
            (name, [(row["value"], f"boot {row['number']}: {row['value']:g} {unit} ({row['stage']})") for row in mine])
        )
    return arms


def _raw(
    connection: Connection[Any], run: Mapping[str, Any], record: Mapping[str, Any], case: CaseKey
) -> list[RawLink]:
    """The outputs of this case, boot by boot: files are named by the case's place in the plan."""
    places = [
        index
        for index, each in enumerate(record["plan"]["cases"])
        if (each["suite"], each["benchmark"], tuple(each["params"].items())) == case
    ]
    if not places:
        return []
    mark = f"/{places[0]:03d}-"
    return [
        RawLink(row["arm"], row["number"], run["digest"], file["name"])
        for row in boots.raw_files_of_run(connection, run["id"])
        for file in row["files"]
        if mark in file["name"] and file["name"].endswith(".out")
    ]


def _command(record: Mapping[str, Any], suite: str, found: Answer, head: Mapping[str, Any]) -> str:
    """What measures this again on a host of one's own, in the order that was drawn here."""
    boots_an_arm = max(found.comparison["summary"][side]["boots"] for side in ("base", "head"))
    options = {
        "--tree": record.get("tree") or "DIR",
        "--base": found.target.base["commit"],
        "--head": head["commit"],
        "--suite": suite,
        "--profile": record.get("profile") or "standard",
        "--mode": found.target.mode,
        "--boots": str(max(1, boots_an_arm)),
        "--seed": str(record["plan"].get("seed", 1)),
    }
    return "cliffwatch run " + " ".join(f"{name} {shlex.quote(str(value))}" for name, value in options.items())
