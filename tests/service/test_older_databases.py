"""A database that the version before filled is restored, migrated and read: its documents are of version 1."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import psycopg
import pytest
from service_running import Clock, serving

from cliffwatch.formats.comparison import RevisionComparison, RunComparison
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.schemas import schema_of
from cliffwatch_service.postgres.embedded import EmbeddedPostgres
from cliffwatch_service.postgres.restoring import restore
from cliffwatch_service.postgres.server import Postgres
from cliffwatch_service.runtime.settings import Settings

BACKUP = Path(__file__).parents[1] / "data/databases/documents-of-version-1.backup"
WALLTIME, ICOUNT = "e284eac791f1c97725047ab2e5600faa", "77126817da084805cbf5d2eea464f50b"


@pytest.fixture
def older(empty_database: str, cluster: EmbeddedPostgres, settings: Settings) -> Iterator[Any]:
    restore(Postgres(empty_database, "", cluster.programs), BACKUP)
    with psycopg.connect(empty_database) as connection:
        connection.execute("UPDATE token SET name = 'older ' || name")  # this service's tests make their own
    with serving(empty_database, settings, Clock()) as running:
        yield running


def test_its_documents_are_answered_in_the_form_of_today(older: Any) -> None:
    for run in (WALLTIME, ICOUNT):
        whole = older.get(f"/runs/{run}")
        jsonschema.validate(whole["record"], schema_of(RunRecord))
        assert [arm["name"] for arm in whole["record"]["arms"]] == ["base", "head"]
        jsonschema.validate(older.get(f"/runs/{run}/comparison"), schema_of(RunComparison))
    compared = older.get("/comparisons/nearest...6865616")
    jsonschema.validate(compared, schema_of(RevisionComparison))
    assert [arm["facts"]["commit"][:6] for arm in compared["arms"]] == ["626173", "686561"]


def test_its_verdicts_are_kept_as_they_were_stored(older: Any) -> None:
    with psycopg.connect(older.database) as connection:
        query = (
            "SELECT summary ->> 'format_version', method_version, counts FROM comparison ORDER BY platform"
        )
        stored = connection.execute(query).fetchall()
    assert [version for version, *_ in stored] == ["1", "1"]

    rows = older.get(f"/runs/{WALLTIME}/comparison")["comparisons"]
    verdicts = [row["verdict"] for row in rows]
    assert {verdict: verdicts.count(verdict) for verdict in set(verdicts)} == {
        verdict: count for verdict, count in stored[0][2].items() if count
    }
    (slower,) = [row for row in rows if row["verdict"] == "regression"]
    assert slower["change"] == pytest.approx(0.1, abs=0.02)


def test_its_pages_exports_and_boots_work(older: Any) -> None:
    with older.http(None) as http:
        for path in (
            f"/runs/{WALLTIME}",
            f"/runs/{WALLTIME}/boots/1",
            f"/compare/{WALLTIME}",
            f"/compare/{ICOUNT}.txt",
        ):
            answer = http.get(path)
            assert answer.status_code == 200, (path, answer.text[:500])
    with older.http("read") as http:
        for form in ("json", "csv", "go-bench", "bmf", "kcidb"):
            answer = http.get(f"/api/v1/runs/{WALLTIME}/export", params={"format": form})
            assert answer.status_code == 200, (form, answer.text[:500])
    assert len(older.get(f"/runs/{WALLTIME}/boots/1")["samples"]) == 4
