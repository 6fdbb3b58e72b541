"""Alert rules run on the demonstration through the role of dashboards, refer to what is there, and fire when
they should.
"""

import re
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from dashboards_read import ROOT, alert_rules, answer, dashboards
from service_running import Running

RULES = {rule["uid"]: rule for rule in alert_rules()}


def rows_of(connection: Any, uid: str) -> list[dict[str, Any]]:
    given = answer(connection, RULES[uid]["data"][0]["model"]["rawSql"])
    return [dict(row) for row in given.rows]


def firing(connection: Any, uid: str) -> list[dict[str, Any]]:
    """The rows beyond the rule's threshold."""
    rule = RULES[uid]
    (condition,) = rule["data"][1]["model"]["conditions"]
    assert condition["evaluator"]["type"] == "gt"
    (limit,) = condition["evaluator"]["params"]
    return [row for row in rows_of(connection, uid) if float(list(row.values())[-1]) > limit]


@pytest.mark.parametrize("uid", RULES)
def test_a_rule_is_whole(reading: Any, demonstration: Running, uid: str) -> None:
    rule = RULES[uid]
    query, threshold = rule["data"]
    assert rule["condition"] == threshold["refId"]
    assert threshold["model"]["expression"] == query["refId"]
    assert query["datasourceUid"] == "cliffwatch"
    assert query["model"]["datasource"]["uid"] == "cliffwatch"
    assert threshold["datasourceUid"] == "__expr__"
    assert rule["labels"]["team"] in ("bpf", "operators")
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["annotations"]["__dashboardUid__"] in {each["uid"] for each in dashboards()}
    given = answer(reading, query["model"]["rawSql"])
    *labels, number = given.columns
    assert given.columns[number] in ("int4", "int8", "float8", "numeric")
    assert {given.columns[label] for label in labels} <= {"text", "name"}
    used = {name for text in rule["annotations"].values() for name in re.findall(r"\.Labels\.(\w+)", text)}
    assert used <= set(labels)
    assert "link" in used
    for row in given.rows[:3]:
        assert row["link"].startswith(demonstration.url)
        with demonstration.http(None) as http:
            assert http.get(row["link"], headers={"Accept": "text/html"}).status_code == 200


def test_identities_of_rules_are_one_each() -> None:
    assert len(RULES) == len(alert_rules())


def test_nothing_in_a_rule_is_read_as_grafanas_environment() -> None:
    assert "$" not in (ROOT / "provisioning/alerting/cliffwatch.yaml").read_text()


def test_reports_fire_until_they_are_judged(reading: Any, demonstration: Running) -> None:
    new = {report["report"] for report in demonstration.get("/reports")["items"] if report["state"] == "new"}
    week = [
        report
        for report in demonstration.get("/reports")["items"]
        if report["state"] == "new"
        and datetime.fromisoformat(report["opened"]) > database_now(reading) - timedelta(days=14)
    ]
    assert {row["report"] for row in firing(reading, "cliffwatch-regression")} == {
        report["report"] for report in week
    }
    assert new


def database_now(connection: psycopg.Connection[Any]) -> datetime:
    row = connection.execute("SELECT now()").fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment


def test_each_kind_of_trouble_fires(demonstration: Running) -> None:
    """In a transaction that is taken back: a host that fails, one that is offline, a stale target, tasks that
    were given up.
    """
    with psycopg.connect(demonstration.database) as connection:
        connection.execute("UPDATE regression_report SET opened = now() WHERE state = 'new'")
        connection.execute("UPDATE run SET received = now() - interval '3 days'")
        connection.execute("UPDATE host SET last_seen = now() - interval '7 hours'")
        connection.execute("UPDATE lease SET ended = now(), outcome = 'host-failed', granted = now()")
        connection.execute(
            "INSERT INTO lease (id, job_id, host_id, granted, expires, ended, outcome) SELECT"
            " gen_random_uuid(), job_id, host_id, granted, expires, ended, 'expired' FROM lease,"
            " generate_series(1, 2)"
        )
        connection.execute("UPDATE job SET state = 'queued' WHERE state = 'leased'")
        connection.execute("UPDATE comparison SET summary = jsonb_set(summary, '{control,published}', '1'), made = now()"
                           " WHERE summary -> 'control' <> 'null'")  # fmt: skip
        connection.execute(
            "UPDATE procrastinate_jobs SET status = 'failed' WHERE id = (SELECT min(id) FROM"
            " procrastinate_jobs)"
        )
        connection.execute("UPDATE procrastinate_events SET at = now()")
        fired = {uid for uid in RULES if firing(connection, uid)}
        connection.execute("UPDATE job SET state = 'parked'")
        assert firing(connection, "cliffwatch-parked-jobs")
        connection.execute("UPDATE procrastinate_events SET at = now() - interval '2 hours'")
        assert firing(connection, "cliffwatch-tasks-wait")
        connection.rollback()
    quiet = {"cliffwatch-parked-jobs", "cliffwatch-tasks-wait", "cliffwatch-never-measured"}
    assert fired >= set(RULES) - quiet


def test_a_rehearsal_whose_control_reports_something_is_no_alarm(demonstration: Running) -> None:
    false = "UPDATE comparison SET summary = jsonb_set(summary, '{control,published}', '1'), made = now()"
    with psycopg.connect(demonstration.database) as connection:
        connection.execute(f"{false} WHERE summary -> 'control' <> 'null'")
        assert firing(connection, "cliffwatch-noisy-host")
        connection.execute("INSERT INTO platform (name) VALUES ('rehearsal-x86-64')")
        connection.execute("UPDATE comparison SET platform = 'rehearsal-x86-64'")
        assert not firing(connection, "cliffwatch-noisy-host")
        connection.rollback()


def test_a_backup_of_last_night_is_no_alarm(demonstration: Running) -> None:
    with psycopg.connect(demonstration.database) as connection:
        connection.execute("INSERT INTO backup (taken, bytes) VALUES (now() - interval '37 hours', 1)")
        assert firing(connection, "cliffwatch-no-backup")
        connection.execute("INSERT INTO backup (taken, bytes) VALUES (now() - interval '20 hours', 1)")
        assert not firing(connection, "cliffwatch-no-backup")
        connection.rollback()


def test_a_living_process_of_tasks_is_no_alarm(demonstration: Running) -> None:
    with psycopg.connect(demonstration.database) as connection:
        assert firing(connection, "cliffwatch-no-heartbeat")
        connection.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now())")
        assert not firing(connection, "cliffwatch-no-heartbeat")
        connection.rollback()
