"""Published results (published/README.md) as runs. Each side has one boot, because tables have one number."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from cliffwatch.formats.boot_record import BootRecord, SampleRecord
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.run_record import (
    FORMAT,
    FORMAT_VERSION,
    ArmFacts,
    ArmRecord,
    BenchRecord,
    PlannedBootRecord,
    PlannedCaseRecord,
    PlanRecord,
    RunRecord,
)
from cliffwatch.formats.uploads import BootUpload
from cliffwatch.identities import digest_of
from cliffwatch_service.command.demonstration.demo_run import DemoBoot, DemoRun
from cliffwatch_service.history.published_results import PARAMETERS, read_published

_METRICS = {"hits latency": "hits-latency", "hits throughput": "hits-throughput"}

Sample = tuple[str, str, dict[str, str], str, str, float]
"""Suite, benchmark, params, metric, unit, value."""


def published_runs(now: datetime) -> Iterator[DemoRun]:
    """Yields one run of the table with two sides, and one per platform of the table with two platforms."""
    yield _inline_lookup(now)
    for platform, column in (
        ("amd-rome", "amd_rome_256cpu_memcpy_ns"),
        ("intel-skylake", "intel_skylake_112cpu_memcpy_ns"),
    ):
        yield _traversal(platform, column, now)


def _inline_lookup(now: datetime) -> DemoRun:
    rows = [
        row for row in read_published("local-storage-2024-inline-lookup.csv") if row["metric"] in _METRICS
    ]
    sides = {
        arm: [
            (
                "local-storage",
                row["benchmark"],
                {PARAMETERS.get(row["param"], row["param"]): row["value"]},
                _METRICS[row["metric"]],
                row["unit"],
                float(row[column]),
            )
            for row in rows
        ]
        for arm, column in (("base", "before"), ("head", "after"))
    }
    note = (
        "Published on the bpf list, February 2024 (v2 of 'Allow compiler to inline most of"
        " bpf_local_storage_lookup()'): medians of 21 trials."
    )
    subjects = {
        "base": "published: before inlining the lookup",
        "head": "published: after inlining the lookup",
    }
    return _run("published", "inline-lookup-2024", sides, subjects, note, now - timedelta(days=9))


def _traversal(platform: str, column: str, now: datetime) -> DemoRun:
    samples: list[Sample] = [
        (
            "discovered",
            f"percpu-htab-{row['probe'].replace('_', '-')}",
            {"percentile": row["percentile"]},
            "copy-latency",
            "ns/op",
            float(row[column]),
        )
        for row in read_published("percpu-htab-traversal-2022.csv")
    ]
    note = (
        "Published at Linux Plumbers 2022 (per-CPU hash table traversal): percentiles of one kernel, measured"
        " with the author's own probe."
    )
    subjects = {"head": "published: traversal of per-CPU hash tables"}
    host = {"amd-rome": "rome-1", "intel-skylake": "skylake-1"}[platform]
    return _run(
        host,
        f"traversal-2022-{platform}",
        {"head": samples},
        subjects,
        note,
        now - timedelta(days=8),
        platform,
    )


def _run(
    host: str,
    name: str,
    sides: Mapping[str, Sequence[Sample]],
    subjects: Mapping[str, str],
    note: str,
    when: datetime,
    platform: str = "published",
) -> DemoRun:
    cases = {
        (suite, benchmark, tuple(params.items()))
        for samples in sides.values()
        for suite, benchmark, params, *_ in samples
    }
    ordered = sorted(cases)
    plan = PlanRecord(
        seed=1,
        cases=tuple(
            PlannedCaseRecord(suite=suite, benchmark=benchmark, params=dict(params), argv=(benchmark,))
            for suite, benchmark, params in ordered
        ),
        boots=tuple(
            PlannedBootRecord(index=number, block=0, arm=arm, cases=tuple(range(len(ordered))))
            for number, arm in enumerate(sides, start=1)
        ),
    )
    record = RunRecord(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        cliffwatch_version="0.1.0",
        created=when.isoformat(),
        status="complete",
        identity=digest_of(["published", name]),
        mode="walltime",
        platform=platform,
        profile="standard",
        suites=tuple(sorted({suite for suite, *_ in ordered})),
        tree="",
        arms=tuple(_arm(arm, name, subjects[arm]) for arm in sides),
        bench=BenchRecord(from_="head", digest="0" * 32, source_digest=digest_of(name), fixed_seed=False),
        config_digest=digest_of("published: unknown config"),
        plan=plan,
        notes=(note,),
    )
    boots = [
        DemoBoot(number, as_json(_boot(number, arm, samples, when)))
        for number, (arm, samples) in enumerate(sides.items(), start=1)
    ]
    return DemoRun(host, record, boots, when)


def _arm(arm: str, name: str, subject: str) -> ArmRecord:
    commit = digest_of(["published", name, arm]) + "0" * 8
    parents = (digest_of(["published", name, "base"]) + "0" * 8,) if arm == "head" else ()
    facts = ArmFacts(commit=commit, subject=subject, kernel=commit[:32], parents=parents)
    return ArmRecord(name=arm, label=f"{commit[:12]} ({subject})", facts=facts)


def _boot(number: int, arm: str, samples: Sequence[Sample], when: datetime) -> BootUpload:
    about = BootRecord(
        index=number, block=0, arm=arm, began=when.isoformat(), ended=when.isoformat(), status="complete"
    )
    measured = tuple(
        SampleRecord(
            suite=suite,
            benchmark=benchmark,
            params=params,
            metric=metric,
            unit=unit,
            value=value,
            readings=(value,),
            resolution=0.0,
        )
        for suite, benchmark, params, metric, unit, value in samples
    )
    return BootUpload(boot=about, samples=measured, outcomes=())
