"""What the demonstration lacks of a service at work: jobs that ended, hosts that failed, tasks that ran."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg
from dashboards_read import ROLE

SITE = "https://cliffwatch.example.org/"

_WORK = """
INSERT INTO request (id, idempotency_key, asked_by, body_digest, tree, base_commit, head_commit, suites, profile, boots, priority,
                     created)
SELECT md5('request' || hours)::uuid, 'lived in ' || hours, (SELECT min(id) FROM token), '', 'linux', repeat('a', 40), repeat('b', 40),
       '{local-storage}', 'standard', 'auto', 1, %(now)s - hours * interval '1 hour'
FROM generate_series(3, 160, 4) AS hours;
INSERT INTO job (id, request_id, platform, mode, seed, state, whose, priority, due, created, started, ended)
SELECT md5('job' || platform || id)::uuid, id, platform, 'walltime', 1, state, CASE state WHEN 'failed' THEN 'kernel' END, 1, created,
       created, created + wait, created + wait + (22 + number * 7 %% 31) * interval '1 minute'
FROM (SELECT *, (5 + number * 11 %% 47) * interval '1 minute' AS wait,
             CASE WHEN number %% 19 = 3 THEN 'parked' WHEN number %% 11 = 5 THEN 'failed' ELSE 'done' END AS state
      FROM (SELECT *, row_number() OVER (ORDER BY platform, created) AS number
            FROM request CROSS JOIN (VALUES ('amd-rome'), ('intel-skylake')) AS platforms (platform)
            WHERE idempotency_key LIKE 'lived in%%') AS numbered) AS made;
INSERT INTO lease (id, job_id, host_id, granted, expires, ended, outcome)
SELECT md5('lease' || job.id)::uuid, job.id, host.id, started, ended, ended,
       CASE job.state WHEN 'parked' THEN 'host-failed' WHEN 'failed' THEN 'kernel-failed' ELSE 'done' END
FROM job JOIN request ON request.id = request_id JOIN host ON host.name = CASE job.platform WHEN 'amd-rome' THEN 'rome-1' ELSE 'skylake-1' END
WHERE idempotency_key LIKE 'lived in%%';
UPDATE host SET last_seen = %(now)s WHERE name <> 'published';
"""
_TASKS = """
DELETE FROM procrastinate_events;
DELETE FROM procrastinate_jobs;
INSERT INTO procrastinate_jobs (queue_name, task_name, status, attempts, args)
SELECT 'default', CASE number %% 4 WHEN 0 THEN 'analyse-run' ELSE 'minute-round' END,
       (CASE WHEN number = 71 THEN 'failed' WHEN number > 190 THEN 'todo' ELSE 'succeeded' END)::procrastinate_job_status, 1,
       jsonb_build_object('lived in', number)
FROM generate_series(1, 200) AS number;
UPDATE procrastinate_events SET at = %(now)s - (200 - (args ->> 'lived in')::int) * interval '14 minutes'
FROM procrastinate_jobs WHERE procrastinate_jobs.id = job_id;
INSERT INTO procrastinate_events (job_id, type, at)
SELECT id, status::text::procrastinate_job_event_type, %(now)s - (200 - (args ->> 'lived in')::int) * interval '14 minutes'
FROM procrastinate_jobs WHERE status IN ('succeeded', 'failed');
INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '4 s');
INSERT INTO uploaded (token_id, day, bytes)
SELECT (SELECT min(id) FROM token), %(now)s::date - days, 41000000 + days * 9000000 FROM generate_series(0, 1) AS days
ON CONFLICT DO NOTHING;
INSERT INTO backup (taken, bytes)
SELECT %(now)s - days * interval '1 day' - interval '7 hours', 3600000 + (7 - days) * 140000 FROM generate_series(0, 6) AS days;
"""
_TROUBLE = """
UPDATE run SET status = 'incomplete' WHERE id = (SELECT id FROM run ORDER BY received DESC LIMIT 1);
UPDATE comparison SET summary = jsonb_set(summary, '{control,published}', '1')
WHERE id = (SELECT max(id) FROM comparison WHERE summary -> 'control' <> 'null');
"""


def live_in(connection: psycopg.Connection[Any], now: datetime) -> None:
    """Writes a week of work into a demonstration that was filled at `now`."""
    for statements in (_WORK, _TASKS, _TROUBLE):
        for statement in statements.split(";\n"):
            if statement.strip():
                connection.execute(statement, {"now": now})  # type: ignore[arg-type]


@contextmanager
def open_as_grafana(database: str, site: str) -> Iterator[psycopg.Connection[Any]]:
    """What Grafana's connections may do; links lead to `site`."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("INSERT INTO dashboard.pages (url) VALUES (%s) ON CONFLICT DO NOTHING", [site])
        connection.execute(f"SET ROLE {ROLE}")
        connection.execute("SET default_transaction_read_only = on")
        yield connection
