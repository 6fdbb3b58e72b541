"""What Prometheus reads, and the alerts that are made of it."""

import math
import os
import re
from pathlib import Path

import pytest
import yaml
from asking import ask, offer
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families
from service_running import Running

from cliffwatch_service.command import backup as command
from cliffwatch_service.postgres.embedded import client_programs

RULES = Path(__file__).parents[2] / "examples/prometheus/cliffwatch.rules.yml"


def metrics(running: Running) -> dict[tuple[str, str], float]:
    """Values by name and platform."""
    with running.http("read") as http:
        text = http.get("/metrics").raise_for_status().text
    return {
        (sample.name, sample.labels.get("platform", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_hosts_that_are_online_are_counted(running: Running) -> None:
    offer(running, "rome-1")
    assert metrics(running)["cliffwatch_hosts_online", "amd-rome"] == 1
    running.clock.pass_(hours=1)
    assert metrics(running)["cliffwatch_hosts_online", "amd-rome"] == 0


def test_the_oldest_job_that_waits_has_an_age(running: Running) -> None:
    assert metrics(running)["cliffwatch_oldest_queued_job_seconds", ""] == 0
    ask(running)
    running.clock.pass_(hours=2)
    assert metrics(running)["cliffwatch_oldest_queued_job_seconds", ""] == 7200


def test_sizes_are_those_of_database_and_disk(running: Running) -> None:
    read = metrics(running)
    assert read["cliffwatch_database_bytes", ""] > 1_000_000
    assert read["cliffwatch_data_disk_free_bytes", ""] > 0


def test_the_last_backup_has_an_age(
    running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Infinite before the first one, so that one alert is enough. The moment counts at which it began."""
    assert metrics(running)["cliffwatch_backup_age_seconds", ""] == math.inf
    monkeypatch.setenv("DATABASE_URL", running.database)
    monkeypatch.setenv("PATH", f"{client_programs()}:{os.environ['PATH']}")
    monkeypatch.setattr(command, "now", running.clock.now)
    file = tmp_path / "first.backup"

    assert CliRunner().invoke(command.backup, [str(file)]).exit_code == 0
    running.clock.pass_(hours=30)
    assert metrics(running)["cliffwatch_backup_age_seconds", ""] == 30 * 3600

    assert CliRunner().invoke(command.backup, [str(file)]).exit_code == 4, "the file is there already"
    assert CliRunner().invoke(command.backup, [str(file), "--verify"]).exit_code == 0
    assert metrics(running)["cliffwatch_backup_age_seconds", ""] == 30 * 3600


def test_alerts_are_of_metrics_that_exist(running: Running) -> None:
    with running.http("read") as http:
        known = set(re.findall(r"^# TYPE (\S+)", http.get("/metrics").text, re.MULTILINE)) | {"up"}
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    used = {name for rule in rules for name in re.findall(r"\b(?:cliffwatch_\w+|up)\b", rule["expr"])}
    assert used <= known
    assert all(rule["annotations"]["summary"] for rule in rules)
