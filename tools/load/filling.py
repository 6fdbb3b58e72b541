"""Fills a service's database with made-up data, by SQL: as the service itself would store it, only faster."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from cliffwatch.formats.uploads import BootUpload, boot_upload_of
from cliffwatch.identities import case_digest, digest_of, run_digest, series_digest
from cliffwatch.samples import CaseKey, Mode
from cliffwatch_service.ingest.boot_document import pack, pack_content
from cliffwatch_service.store.series import SeriesFacts, keep_columns, keep_series

TARGETS: tuple[tuple[str, Mode], ...] = (
    ("amd-rome", "walltime"),
    ("intel-skylake", "walltime"),
    ("amd-rome", "icount"),
    ("intel-skylake", "icount"),
)
SERIES = 3000
BOOTS = 21
REVISIONS = 5000
TREE, BRANCH = "https://git.example.org/load.git", "master"
READINGS = 3
"""Readings that each sample has under it."""

BENCHMARKS = (
    "local-storage-cache-seq-get",
    "local-storage-cache-int-get",
    "local-storage-cache-hashmap-control",
)
PER_SAMPLE = 2 * BOOTS * len(TARGETS)


def commit_of(number: int) -> str:
    return digest_of(["load", number]) + "00000000"


def cases() -> list[CaseKey]:
    return [
        CaseKey("local-storage", BENCHMARKS[index % 3], (("nr_maps", str(index)),)) for index in range(SERIES)
    ]


def watched_series(samples: int) -> int:
    """Series of each target that every revision is measured in: a quarter of the samples, at least one."""
    return max(1, samples // 4 // (REVISIONS * PER_SAMPLE))


def full_runs(samples: int) -> int:
    """Revisions that are measured in every series."""
    return max(1, (samples - watched_series(samples) * REVISIONS * PER_SAMPLE) // (SERIES * PER_SAMPLE))


def fill(url: str, samples: int) -> int:
    """Fills an empty database with about so many samples; how many it came to."""
    with psycopg.connect(url, row_factory=dict_row, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off; SET work_mem = '256MB'; SET jit = off")
        (token,) = connection.execute("SELECT min(id) AS id FROM token").fetchall()
        _revisions(connection)
        watched, full = watched_series(samples), full_runs(samples)
        for target in TARGETS:
            _target(connection, target, watched, full, token["id"])
            print(f"  {target[0]} {target[1]} filled", flush=True)
        _inbox(connection)
        connection.execute("VACUUM ANALYZE")
        (count,) = connection.execute("SELECT sum(cardinality(samples)) AS n FROM boot").fetchall()
    return int(count["n"])


def _revisions(connection: psycopg.Connection[Any]) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY revision (commit, parents, subject, committed) FROM STDIN") as copy,
    ):
        for number in range(REVISIONS):
            parents = [commit_of(number - 1)] if number else []
            copy.write_row((commit_of(number), parents, f"bpf: Change {number}", "2024-01-01T00:00:00Z"))
    connection.execute("INSERT INTO tree (url, added) VALUES (%s, now())", [TREE])
    connection.execute("INSERT INTO branch (tree_id, name) SELECT id, %s FROM tree", [BRANCH])
    connection.execute(
        "INSERT INTO branch_revision SELECT branch.id, substring(subject FROM '[0-9]+$')::int, revision.id"
        " FROM revision, branch"
    )


def _target(
    connection: psycopg.Connection[Any], target: tuple[str, Mode], watched: int, full: int, token: int
) -> None:
    platform = target[0]
    connection.execute("INSERT INTO platform (name) VALUES (%s) ON CONFLICT DO NOTHING", [platform])
    connection.execute(
        "INSERT INTO host (name, platform, added, last_seen) VALUES (%s, %s, now(), now()) ON CONFLICT DO"
        " NOTHING",
        [f"{platform}-load", platform],
    )
    ordered = sorted(cases(), key=lambda case: (case.suite, case.benchmark, case.params))
    rows = [series_row(case, target) for case in ordered]
    ids = keep_series(connection, rows)
    every = [ids[row.digest] for row in rows]
    facts = {"target": target}
    connection.execute(
        "INSERT INTO environment (digest, epoch, facts) VALUES (%s, %s, %s)",
        [digest_of(facts), digest_of(facts), Jsonb(facts)],
    )
    step = max(1, REVISIONS // full)
    whole = list(range(REVISIONS - 1, 0, -step))[:full]
    for chosen, heads in ((ordered[:watched], list(range(1, REVISIONS))), (ordered, whole)):
        columns = keep_columns(
            connection,
            digest_of(["columns", [row.digest for row in rows[: len(chosen)]]]),
            every[: len(chosen)],
        )
        _runs(connection, target, chosen, columns, heads, token)


def series_row(case: CaseKey, target: tuple[str, Mode]) -> SeriesFacts:
    platform, mode = target
    return SeriesFacts(
        digest=series_digest(case, "hits-latency", "ns/op", platform, mode),
        case_digest=case_digest(case),
        suite=case.suite,
        benchmark=case.benchmark,
        params=case.params,
        name=str(case),
        metric="hits-latency",
        unit="ns/op",
        platform=platform,
        mode=mode,
    )


def _runs(
    connection: psycopg.Connection[Any],
    target: tuple[str, Mode],
    chosen: list[CaseKey],
    columns: int,
    heads: list[int],
    token: int,
) -> None:
    """Runs of head against its parent: all of one kind in one statement each."""
    platform, mode = target
    record = pack_content(json.dumps(record_of(target, chosen, heads[0])).encode())
    connection.execute("CREATE TEMP TABLE filling (head int, digest text)")
    with connection.cursor() as cursor, cursor.copy("COPY filling FROM STDIN") as copy:
        for head in heads:
            copy.write_row((head, digest_of(["load run", target, len(chosen), head])))
    connection.execute(
        "INSERT INTO run (digest, identity, platform, mode, status, host_id, environment_id, created,"
        " received, updated, record, record_digest, uploaded_by, of_history) SELECT filling.digest,"
        " filling.digest, %s, %s, 'complete', host.id, environment.id, '2024-01-01'::timestamptz + head *"
        " interval '1 hour', now(), now(), %s, '', %s, true FROM filling, host, environment WHERE host.name ="
        " %s AND environment.digest = %s",
        [platform, mode, record, token, f"{platform}-load", digest_of({"target": target})],
    )
    connection.execute(
        "INSERT INTO arm (run_id, name, revision_id, label) SELECT run.id, side.name, place.revision_id,"
        " 'load' FROM filling JOIN run USING (digest) CROSS JOIN (VALUES ('base', 1), ('head', 0)) AS side"
        " (name, back) JOIN branch_revision AS place ON place.ordinal = head - side.back ORDER BY run.id,"
        " side.name"
    )
    # The offset keeps the planner from making one array for all boots.
    connection.execute(
        "INSERT INTO boot (run_id, number, arm_id, block, stage, status, received, digest, columns_id,"
        " samples) SELECT run.id, 2 * block + (arm.name = 'head')::int + 1, arm.id, block, 'screen',"
        " 'complete', now(), 'load', %s,  ARRAY(SELECT round((100 * exp(0.01 * random_normal(0,"
        " 1)))::numeric, 3)::float8 FROM generate_series(1, %s) WHERE block >= 0) FROM filling JOIN run USING"
        " (digest) JOIN arm ON arm.run_id = run.id CROSS JOIN generate_series(0, %s) AS block",
        [columns, len(chosen), BOOTS - 1],
    )
    connection.execute(
        "INSERT INTO boot_document (run_id, number, content) SELECT run_id, number, %s FROM boot"
        " JOIN run ON run.id = run_id JOIN filling ON filling.digest = run.digest",
        [document_of(target, chosen)],
    )
    connection.execute(
        "INSERT INTO point (series_id, arm_id, revision_id, environment_id, n, centre, low, high) SELECT"
        " held.series, arm.id, arm.revision_id, run.environment_id, %s, c, c * 0.995, c * 1.005 FROM filling"
        " JOIN run USING (digest) JOIN arm ON arm.run_id = run.id JOIN columns ON columns.id = %s CROSS JOIN"
        " LATERAL unnest(columns.series) AS held (series) CROSS JOIN LATERAL (SELECT 100 + random_normal(0,"
        " 0.3) + 0 * arm.id AS c) AS drawn",
        [BOOTS, columns],
    )
    connection.execute("DROP TABLE filling")


def record_of(target: tuple[str, str], chosen: list[CaseKey], head: int) -> dict[str, Any]:
    """run.json of a run of head against its parent."""
    planned = [
        {
            "suite": case.suite,
            "benchmark": case.benchmark,
            "params": dict(case.params),
            "argv": [case.benchmark],
        }
        for case in chosen
    ]
    boots = [
        {"index": 2 * block + index + 1, "block": block, "arm": arm, "stage": "screen"}
        for block in range(BOOTS)
        for index, arm in enumerate(("base", "head"))
    ]
    arms = [
        {
            "name": arm,
            "label": commit_of(number)[:12],
            "facts": {"commit": commit_of(number), "kernel": commit_of(number)[:32]},
            "failure": None,
        }
        for arm, number in (("base", head - 1), ("head", head))
    ]
    return {
        "format": "cliffwatch-run",
        "format_version": 2,
        "cliffwatch_version": "0.1.0",
        "created": "2026-11-21T10:00:00+00:00",
        "status": "complete",
        "identity": digest_of(["load", target, head]),
        "mode": target[1],
        "platform": target[0],
        "tree": TREE,
        "arms": arms,
        "guest": {"cpus": 4},
        "plan": {"seed": 1, "stages": None, "cases": planned, "boots": boots},
        "left_out": [],
        "notes": [],
    }


def boot_upload(chosen: list[CaseKey], number: int, seed: int) -> dict[str, Any]:
    """A boot as a host uploads it: three readings a sample."""
    drawn = 100 * np.exp(np.random.default_rng(seed).normal(0, 0.01, (len(chosen), READINGS)))
    samples = [
        {
            "suite": case.suite,
            "benchmark": case.benchmark,
            "params": dict(case.params),
            "metric": "hits-latency",
            "unit": "ns/op",
            "value": round(float(np.median(row)), 3),
            "readings": [round(float(reading), 3) for reading in row],
            "resolution": 0.001,
        }
        for case, row in zip(chosen, drawn, strict=True)
    ]
    outcomes = [
        {
            "suite": case.suite,
            "benchmark": case.benchmark,
            "params": dict(case.params),
            "status": "ok",
            "reason": "",
        }
        for case in chosen
    ]
    about = {
        "index": number,
        "block": (number - 1) // 2,
        "arm": ("base", "head")[(number - 1) % 2],
        "stage": "screen",
        "began": "2026-11-21T10:00:00Z",
        "ended": "2026-11-21T10:10:00Z",
        "status": "complete",
    }
    return {
        "boot": about,
        "environment": {"kernel": "6.12"},
        "samples": samples,
        "outcomes": outcomes,
        "problems": [],
    }


def document_of(target: tuple[str, str], chosen: list[CaseKey]) -> bytes:
    raw = boot_upload(chosen, 1, len(target[0]))
    upload = boot_upload_of(raw)
    assert isinstance(upload, BootUpload), upload
    return pack(raw, upload, sorted(upload.samples, key=lambda each: each.case))


def _inbox(connection: psycopg.Connection[Any]) -> None:
    """Three thousand reports of twenty changes each, a tenth of them open."""
    connection.execute(
        "INSERT INTO regression_report (digest, base_revision_id, head_revision_id, state, opened, updated)"
        " SELECT md5(head.ordinal::text), base.revision_id, head.revision_id,  CASE WHEN head.ordinal % 10 ="
        " 0 THEN 'new' ELSE 'fixed' END, now() - head.ordinal * interval '1 minute', now() FROM"
        " branch_revision AS head JOIN branch_revision AS base ON base.ordinal = head.ordinal - 1 WHERE"
        " head.ordinal <= 3000"
    )
    connection.execute(
        "INSERT INTO change (digest, series_id, base_revision_id, head_revision_id, state, kind, size,"
        " report_id, found) SELECT md5(series.id::text || ' ' || report.id::text), series.id,"
        " base_revision_id, head_revision_id, 'confirmed', 'regression',  0.02 + random() / 10, report.id,"
        " opened FROM regression_report AS report JOIN series ON series.id % 600 = report.id % 600"
    )


def runs_to_send(
    target: tuple[str, str], host: str, chosen: list[CaseKey], start: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Endless runs with their digests, each of revisions of its own."""
    number = start
    while True:
        record = {
            **record_of(target, chosen, 10_000_000 + number),
            "identity": digest_of(["sent", target, host, number]),
        }
        yield run_digest(record["identity"], record["created"], host), record
        number += 1
