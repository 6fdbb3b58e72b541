"""Made-up runs in the form in which hosts upload them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cliffwatch.identities import run_digest

BENCHMARKS = (
    "local-storage-cache-seq-get",
    "local-storage-cache-int-get",
    "local-storage-cache-hashmap-control",
)
PARAMETERS = {BENCHMARKS[0]: "nr_maps", BENCHMARKS[1]: "nr_maps", BENCHMARKS[2]: "hashmap_nr_keys_used"}


@dataclass(frozen=True)
class MadeRun:
    """A run with `record` of status complete; `logs` has shape (arms, boots, cases), `measured` is their
    metric and its unit.
    """

    record: dict[str, Any]
    host: str
    logs: np.ndarray
    digest: str = field(default="")
    measured: tuple[str, str] = ("hits-latency", "ns/op")


def commit_of(name: str) -> str:
    return (name.encode().hex() * 40)[:40]


def run_of(
    *,
    boots: int,
    cases: int,
    shift: float = 0.0,
    base: str = "base",
    head: str = "head",
    parents: Mapping[str, Sequence[str]] | None = None,
    mode: str = "walltime",
    platform: str = "amd-rome",
    host: str = "rome-1",
    seed: int = 1,
    created: str = "2026-11-21T10:00:00+00:00",
    spread: float = 0.01,
    config: str = "c" * 64,
) -> MadeRun:
    """Two arms of `boots` boots; head is slower by `shift` in the first case."""
    keys = [_case(index) for index in range(cases)]
    logs = np.log(100) + np.random.default_rng(seed).normal(0, spread, (2, boots, cases))
    logs[1, :, 0] += np.log1p(shift)
    planned = [
        {
            "index": 1 + 2 * block + number,
            "block": block,
            "arm": arm,
            "stage": "screen",
            "cases": list(range(cases)),
        }
        for block in range(boots)
        for number, arm in enumerate(("base", "head"))
    ]
    record = {
        "format": "cliffwatch-run",
        "format_version": 1,
        "cliffwatch_version": "0.1.0",
        "created": created,
        "status": "complete",
        "identity": f"{seed:032x}",
        "mode": mode,
        "platform": platform,
        "profile": "standard",
        "suites": ["local-storage"],
        "tree": "https://git.example.org/bpf-next.git",
        "arms": [
            {"name": name, **_arm(commit, (parents or {}).get(commit, ()), config)}
            for name, commit in (("base", base), ("head", head))
        ],
        "bench": {"from": "head", "digest": "b" * 32, "source_digest": "d" * 32, "fixed_seed": False},
        "config_digest": config,
        "toolchain": {"gcc": "gcc 12.2.0"},
        "guest": {"accelerator": "kvm", "machine": "q35", "cpus": 4},
        "plan": {
            "seed": seed,
            "stages": None,
            "cases": [
                {**key, "argv": [key["benchmark"]], "guest": {"cpus": 4, "memory_mib": None}} for key in keys
            ],
            "boots": planned,
        },
        "left_out": [],
        "host": {
            "cpu": {"model_name": "AMD EPYC 7502", "microcode": ["0x830107c"]},
            "load_average": [0.1, 0.2, 0.3],
        },
        "notes": [],
    }
    return MadeRun(record=record, host=host, logs=logs, digest=record_digest(record, host))


def with_anchor(run: MadeRun, anchor: str) -> MadeRun:
    """The run with a third arm, the anchor, which reads what base does and half as much again."""
    plan = run.record["plan"]
    more = [
        {**boot, "arm": "anchor", "index": len(plan["boots"]) + number}
        for number, boot in enumerate((boot for boot in plan["boots"] if boot["arm"] == "base"), start=1)
    ]
    config = run.record["config_digest"]
    arms = [*run.record["arms"], {"name": "anchor", **_arm(anchor, (), config)}]
    record = {**run.record, "arms": arms, "plan": {**plan, "boots": [*plan["boots"], *more]}}
    logs = np.concatenate([run.logs, run.logs[:1] + np.log(1.5)])
    return replace(run, record=record, logs=logs, digest=record_digest(record, run.host))


def run_leaving_out(run: MadeRun, measured: int, status: str, reason: str) -> MadeRun:
    """The run with its first cases alone; the others are left out. Without any case it has no boots."""
    return run_of_cases(run, range(measured), status, reason)


def run_of_cases(run: MadeRun, measured: Sequence[int], status: str, reason: str) -> MadeRun:
    """The run with these cases alone."""
    plan = run.record["plan"]
    left = [
        {
            **{name: case[name] for name in ("suite", "benchmark", "params")},
            "status": status,
            "reason": reason,
        }
        for index, case in enumerate(plan["cases"])
        if index not in measured
    ]
    kept = list(range(len(measured)))
    boots = [{**boot, "cases": kept} for boot in plan["boots"]] if kept else []
    shorter = {**plan, "cases": [plan["cases"][index] for index in measured], "boots": boots}
    logs = run.logs[:, :, list(measured)]
    return replace(run, record={**run.record, "plan": shorter, "left_out": left}, logs=logs)


def record_digest(record: Mapping[str, Any], host: str) -> str:
    return run_digest(record["identity"], record["created"], host)


def arm_of(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An arm of run.json."""
    found: dict[str, Any] = next(arm for arm in record["arms"] if arm["name"] == name)
    return found


def _case(index: int) -> dict[str, Any]:
    benchmark = BENCHMARKS[index % 3]
    return {"suite": "local-storage", "benchmark": benchmark, "params": {PARAMETERS[benchmark]: str(index)}}


def _arm(name: str, parents: Sequence[str], config: str) -> dict[str, Any]:
    commit = commit_of(name)
    return {
        "label": f"{commit[:12]} (bpf: {name})",
        "facts": {
            "commit": commit,
            "tree": commit[::-1].replace(" ", "0"),
            "release": "6.12.0",
            "subject": f"bpf: {name}",
            "author_date": "2026-11-20T10:00:00+00:00",
            "parents": [commit_of(parent) for parent in parents],
            "kernel": commit[:32],
            "config": config,
        },
        "failure": None,
    }


def record_of(run: MadeRun, status: str = "complete", job: str | None = None) -> dict[str, Any]:
    """The body of an upload of run.json."""
    return {"host": run.host, "record": {**run.record, "status": status}, "job": job}


def boots_of(run: MadeRun) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbers and bodies of its boots, in the plan's order."""
    for boot in run.record["plan"]["boots"]:
        arm = [each["name"] for each in run.record["arms"]].index(boot["arm"])
        values = np.exp(run.logs[arm, boot["block"]])
        cases = run.record["plan"]["cases"]
        samples = [
            {
                **{name: case[name] for name in ("suite", "benchmark", "params")},
                "metric": run.measured[0],
                "unit": run.measured[1],
                "value": round(float(value), 3),
                "readings": [round(float(value), 3)],
                "resolution": 0.001,
            }
            for case, value in zip(cases, values, strict=True)
        ]
        outcomes = [
            {**{name: case[name] for name in ("suite", "benchmark", "params")}, "status": "ok", "reason": ""}
            for case in cases
        ]
        about = {
            "format_version": 1,
            "index": boot["index"],
            "block": boot["block"],
            "arm": boot["arm"],
            "stage": boot["stage"],
            "began": "2026-11-21T10:01:00+00:00",
            "ended": "2026-11-21T10:02:00+00:00",
            "status": "complete",
            "parts": [],
        }
        yield (
            boot["index"],
            {"boot": about, "environment": {}, "samples": samples, "outcomes": outcomes, "problems": []},
        )


def put_all(
    http: Any, run: MadeRun, bodies: Sequence[tuple[int, Any]] | None = None, *, job: str | None = None
) -> None:
    """Uploads a run whole: its record, then its boots in the order given."""
    http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, job=job)).raise_for_status()
    for number, body in bodies if bodies is not None else boots_of(run):
        http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
