"""Times every query of the dashboards on a database of 100 million samples, as Grafana would send it.

    python tools/dashboard_times.py [--samples N] [--keep FOLDER] [--bar MILLISECONDS]

Queries of panels, variables, annotations and alert rules run through the role of dashboards, with the
values and over the time that a reader sees who chooses nothing; histories over all of time, as every
revision here is of one day. Besides what `tools/load` fills in there are comparisons with base vs base checks,
jobs, leases and background tasks. PostgreSQL and this program share the machine. Fails where a query takes
longer than the bar in the median.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests/dashboards"))
from dashboards_read import ALWAYS, ROLE, alert_rules, answer, chosen, dashboards, queries, variables
from grafana_sql import TimeRange, interpolated
from load import filling
from load.served import served

COMPARISONS = """
INSERT INTO comparison (digest, platform, mode, base_arm_id, head_arm_id, base_revision_id, head_revision_id, inputs, method_version,
                        made, counts, summary, rows)
SELECT md5('made' || run.id), run.platform, run.mode, base.id, head.id, base.revision_id, head.revision_id, '', 2,
       now() - run.id * interval '6 minutes', '{"regression": 2, "improvement": 1, "unchanged": 2990, "inconclusive": 7}',
       CASE run.mode WHEN 'walltime' THEN '{"notable": 0.01, "control": {"rows": 3000, "largest": 0.005, "published": 0}}'
       ELSE '{"notable": 0.002, "control": null}' END::jsonb, ''
FROM run JOIN arm AS base ON base.run_id = run.id AND base.name = 'base' JOIN arm AS head ON head.run_id = run.id AND head.name = 'head'
ON CONFLICT DO NOTHING
"""
WORK = """
INSERT INTO request (id, idempotency_key, asked_by, body_digest, tree, base_commit, head_commit, suites, profile, boots, priority, created)
SELECT md5('request' || number)::uuid, number::text, (SELECT min(id) FROM token), '', 'load', repeat('a', 40), repeat('b', 40),
       '{local-storage}', 'standard', 'auto', 1, now() - number * interval '4 minutes' FROM generate_series(1, 30000) AS number;
INSERT INTO job (id, request_id, platform, mode, seed, state, priority, due, created, started, ended)
SELECT md5('job' || platform || request.id)::uuid, request.id, platform, 'walltime', 1,
       CASE WHEN created > now() - interval '1 day' THEN 'queued' WHEN random() < 0.02 THEN 'failed' ELSE 'done' END, 1, created, created,
       created + random() * interval '1 hour', created + interval '1 hour' + random() * interval '1 hour'
FROM request, (VALUES ('amd-rome'), ('intel-skylake')) AS platforms (platform);
INSERT INTO lease (id, job_id, host_id, granted, expires, ended, outcome)
SELECT md5('lease' || job.id)::uuid, job.id, host.id, job.started, job.ended, job.ended,
       CASE WHEN random() < 0.02 THEN 'host-failed' ELSE 'done' END
FROM job JOIN host ON host.platform = job.platform AND host.name LIKE '%-load' WHERE state <> 'queued';
INSERT INTO procrastinate_jobs (queue_name, task_name, status, attempts)
SELECT 'default', CASE number % 5 WHEN 0 THEN 'minute-round' ELSE 'analyse-run' END,
       (CASE WHEN number % 5000 = 0 THEN 'failed' ELSE 'succeeded' END)::procrastinate_job_status, 1
FROM generate_series(1, 200000) AS number;
INSERT INTO procrastinate_events (job_id, type, at)
SELECT id, type::procrastinate_job_event_type, now() - (id % 200000) * interval '20 seconds'
FROM procrastinate_jobs, (VALUES ('started'), ('succeeded')) AS types (type);
"""


def asked(connection: psycopg.Connection[Any]) -> Iterator[tuple[str, str, TimeRange]]:
    """Every query with its values and its time, and what it belongs to."""
    for dashboard in dashboards():
        values = chosen(connection, dashboard)
        for variable in variables(dashboard):
            if variable["type"] == "query":
                yield (
                    f"{dashboard['title']}: variable {variable['name']}",
                    interpolated(variable["query"], values),
                    ALWAYS,
                )
        for query in queries(dashboard):
            history = "dashboard.point" in query.text
            yield (
                query.where,
                interpolated(query.text, values),
                ALWAYS if history else shown_at_first(dashboard),
            )
    for rule in alert_rules():
        yield f"Alert rule: {rule['title']}", rule["data"][0]["model"]["rawSql"], ALWAYS


def shown_at_first(dashboard: dict[str, Any]) -> TimeRange:
    days = int(dashboard["time"]["from"].removeprefix("now-").removesuffix("d"))
    now = datetime.now(UTC)
    return TimeRange(now - timedelta(days=days), now)


def timed(
    connection: psycopg.Connection[Any], query: str, span: TimeRange, repeats: int
) -> tuple[list[float], int]:
    """Milliseconds of each turn after a first one, rows read; and how many rows there are."""
    rows, spent = len(answer(connection, query, span).rows), []
    for _ in range(repeats):
        began = time.perf_counter()
        answer(connection, query, span)
        spent.append((time.perf_counter() - began) * 1000)
    return spent, rows


def add_work(connection: psycopg.Connection[Any]) -> None:
    connection.execute("SET synchronous_commit = off")
    connection.execute(COMPARISONS)
    connection.execute(WORK)
    connection.execute("VACUUM ANALYZE")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=100_000_000)
    parser.add_argument("--keep", type=Path, help="where the filled database stays, and is used again")
    parser.add_argument("--bar", type=float, default=200, help="milliseconds that no query may take")
    parser.add_argument("--repeats", type=int, default=7)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = wanted.keep or Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        with served(home) as service, psycopg.connect(service.database, autocommit=True) as connection:
            if not service.rows("SELECT 1 FROM branch LIMIT 1"):
                filling.fill(service.database, wanted.samples)
            if not service.rows("SELECT 1 FROM job LIMIT 1"):
                add_work(connection)
            samples = service.rows("SELECT sum(cardinality(samples)) FROM boot")[0][0]
            connection.execute(f"SET jit = off; SET ROLE {ROLE}")
            times = [
                (where, *timed(connection, query, span, wanted.repeats))
                for where, query, span in asked(connection)
            ]
    print(f"{len(times)} queries, {samples:,} samples: median and largest of {wanted.repeats} turns")
    for where, spent, rows in sorted(times, key=lambda each: -statistics.median(each[1])):
        print(f"{statistics.median(spent):8.1f} ms  {max(spent):8.1f} ms  {rows:6} rows  {where}")
    slow = [where for where, spent, _ in times if statistics.median(spent) > wanted.bar]
    print(f"{len(slow)} of them above {wanted.bar:.0f} ms")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
