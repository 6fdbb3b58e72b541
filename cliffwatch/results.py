"""Reads a result directory (docs/formats.md): what a run measured, for reports and comparisons.

Reading is total: a directory of a newer format, a file that is missing or damaged come back as a `Failure`.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from cliffwatch.failure import Failure
from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome, Mode, Sample
from cliffwatch.stats.stages import Look, Stages

FORMAT = "cliffwatch-run"
FORMAT_VERSION = 1
_LARGEST_JSON_BYTES = 64 << 20
_STATUSES = frozenset({"ok", "failed", "panic", "timeout", "unsupported", "not-run"})

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as it lies on disk. `record` is run.json as it is; `arms` are base, head and, in walltime, control.

    `stages` are those of its plan; None where the plan has one stage.
    """

    path: Path
    record: Mapping[str, Any]
    arms: Mapping[str, Arm]
    stages: Stages | None


def case_to_json(case: CaseKey) -> dict[str, Any]:
    return {"suite": case.suite, "benchmark": case.benchmark, "params": dict(case.params)}


def case_from_json(content: Mapping[str, Any]) -> CaseKey:
    """Raises KeyError, TypeError, AttributeError where the content is none of ours."""
    params = tuple((str(name), str(value)) for name, value in content["params"].items())
    return CaseKey(str(content["suite"]), str(content["benchmark"]), params)


def sample_to_json(sample: Sample) -> dict[str, Any]:
    return {
        **case_to_json(sample.case),
        "metric": sample.metric,
        "unit": sample.unit,
        "value": sample.value,
        "readings": list(sample.readings),
        "resolution": sample.resolution,
    }


def read_run(path: Path) -> Run | Failure:
    """Reads run.json and every finished boot under `path`."""
    record = _read_json(path / "run.json")
    if isinstance(record, Failure):
        return record
    if record.get("format") != FORMAT:
        return Failure(
            whose="usage",
            message=f"{path}: run.json is not of Cliffwatch",
            next_step="name a folder that `cliffwatch run` made",
        )
    version = record.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        return Failure(
            whose="usage",
            message=f"{path}: the results are of format {version}; this Cliffwatch reads up to {FORMAT_VERSION}",
            next_step="update Cliffwatch, or read them with the one that made them",
        )
    order = plan_order(record)
    boots: dict[str, list[Boot]] = {}
    for folder in sorted((path / "boots").glob("*/boot.json")):
        boot = _read_boot(folder.parent, order)
        if isinstance(boot, Failure):
            return boot
        boots.setdefault(boot[0], []).append(boot[1])
    try:
        arms = {name: arm_from_json(name, record, boots.get(name, [])) for name in record["arms"]}
        stages = stages_from_json(record["plan"].get("stages"))
        notable_of(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return _damaged(path / "run.json", repr(error))
    return Run(path=path, record=record, arms=arms, stages=stages)


def notable_of(record: Mapping[str, Any]) -> float | None:
    """The threshold that a run was given, as a fraction; None for the defaults, which older records do not spell out.

    Raises KeyError, TypeError, ValueError where the content is none of ours.
    """
    notable = record["plan"].get("notable")
    if notable is None:
        return None
    if not 0 <= float(notable) <= 1:
        raise ValueError(f"a threshold of {notable!r}")
    return float(notable)


def stages_to_json(stages: Stages | None) -> dict[str, Any] | None:
    if stages is None:
        return None
    looks = [{"boots": look.boots, "alpha": look.alpha} for look in stages.looks]
    return {"screen": stages.screen, "screen_alpha": stages.screen_alpha, "looks": looks}


def stages_from_json(content: Mapping[str, Any] | None) -> Stages | None:
    """Raises KeyError, TypeError, ValueError where the content is none of ours."""
    if content is None:
        return None
    looks = tuple(Look(boots=int(look["boots"]), alpha=float(look["alpha"])) for look in content["looks"])
    return Stages(screen=int(content["screen"]), screen_alpha=float(content["screen_alpha"]), looks=looks)


def arm_from_json(name: str, record: Mapping[str, Any], boots: list[Boot]) -> Arm:
    """An arm of run.json with its boots. Raises KeyError, TypeError, AttributeError where the content is none of ours."""
    about = record["arms"][name]
    facts = {key: value for key, value in about.get("facts", {}).items() if isinstance(value, str)}
    return Arm(
        name=name,
        label=str(about["label"]),
        mode=cast("Mode | None", record.get("mode")),
        platform=record.get("platform"),
        boots=tuple(boots),
        facts=facts,
        failure=str(about["failure"]["message"]) if about.get("failure") else None,
        environment=comparable_environment(record, about),
    )


COMPARED = ("config", "compiler", "bench", "guest", "processor", "microcode")
"""What of an environment must be equal on both sides, see `comparable_environment`."""


def comparable_environment(record: Mapping[str, Any], arm: Mapping[str, Any]) -> dict[str, str]:
    """What must be equal for two arms to be compared; the processor only where it is not emulated."""
    toolchain, guest, host = (record.get(name) or {} for name in ("toolchain", "guest", "host"))
    cpu = host.get("cpu") or {}
    known = {
        "config": arm.get("facts", {}).get("config"),
        "compiler": toolchain.get("gcc") or toolchain.get("clang"),
        "bench": (record.get("bench") or {}).get("source_digest"),
        "guest": json.dumps(guest, sort_keys=True) if guest else None,
    }
    if record.get("mode") == "walltime":
        known |= {
            "processor": cpu.get("model_name"),
            "microcode": "/".join(map(str, cpu.get("microcode") or [])) or None,
        }
    return {name: str(value) for name, value in known.items() if value is not None}


def plan_order(record: Mapping[str, Any]) -> dict[CaseKey, int]:
    """The plan's order of cases, in which people read them; boots ran them in an order of their own."""
    try:
        return {case_from_json(case): index for index, case in enumerate(record["plan"]["cases"])}
    except (KeyError, TypeError, AttributeError):
        return {}


def _read_boot(folder: Path, order: Mapping[CaseKey, int]) -> tuple[str, Boot] | Failure:
    about = _read_json(folder / "boot.json")
    measured = _read_json(folder / "samples.json")
    if isinstance(about, Failure):
        return about
    if isinstance(measured, Failure):
        return measured
    try:
        return str(about["arm"]), boot_from_json(about, measured, order)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return _damaged(folder, repr(error))


def boot_from_json(about: Mapping[str, Any], measured: Mapping[str, Any], order: Mapping[CaseKey, int]) -> Boot:
    """A boot of boot.json and samples.json. Raises KeyError, TypeError, ValueError, AttributeError for what is none of ours."""
    return Boot(
        index=int(about["index"]),
        block=int(about["block"]),
        stage="confirm" if about.get("stage") == "confirm" else "screen",
        layout=None if about.get("layout") is None else str(about["layout"]),
        samples=tuple(sorted(map(_sample, measured["samples"]), key=lambda sample: order.get(sample.case, 0))),
        outcomes=tuple(sorted(map(_outcome, measured["outcomes"]), key=lambda outcome: order.get(outcome.case, 0))),
    )


def _sample(row: Mapping[str, Any]) -> Sample:
    value = float(row["value"])
    if not math.isfinite(value):
        raise ValueError("a value that is no number")
    readings = tuple(float(reading) for reading in row["readings"])
    return Sample(
        case=case_from_json(row),
        metric=str(row["metric"]),
        unit=str(row["unit"]),
        value=value,
        readings=readings,
        resolution=float(row["resolution"]),
    )


def _outcome(row: Mapping[str, Any]) -> CaseOutcome:
    status = row["status"]
    if status not in _STATUSES:
        raise ValueError(f"unknown status {status!r}")
    return CaseOutcome(case=case_from_json(row), status=status, reason=str(row["reason"]))


def _read_json(path: Path) -> JsonObject | Failure:
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(_LARGEST_JSON_BYTES))
    except FileNotFoundError:
        return Failure(
            whose="usage",
            message=f"{path}: there is no {path.name}",
            next_step="name a folder that `cliffwatch run` made",
        )
    except (OSError, ValueError, RecursionError) as error:
        return _damaged(path, str(error))
    return content if isinstance(content, dict) else _damaged(path, "it holds no object")


def _damaged(path: Path, why: str) -> Failure:
    return Failure(
        whose="usage", message=f"{path}: {path.name} cannot be read: {why}", next_step="parse the raw outputs again"
    )
