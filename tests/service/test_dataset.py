"""The public dataset: all that is public, nothing else, and only what is new is written."""

import csv
import gzip
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from psycopg.rows import dict_row
from service_running import Running
from service_runs import boots_of, commit_of, put_all, record_of, run_of

from cliffwatch.importing import ImportedFile, import_file
from cliffwatch.parsers.table.columns import NAMES, table_schema
from cliffwatch_service.command.dataset import dataset
from cliffwatch_service.compare import dataset as writing
from cliffwatch_service.compare.dataset import Wanted, write_dataset

PARQUET = Wanted(form="parquet", licence="CC-BY-4.0")


def written(running: Running, folder: Path, wanted: Wanted = PARQUET) -> Any:
    return write_dataset(running.service.transaction, folder, wanted, running.clock.now())


def package(folder: Path) -> Any:
    return json.loads((folder / "datapackage.json").read_text())


def samples(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of all parts, as any other program would read them."""
    for part in parts(folder):
        path = folder / part["path"]
        if part["format"] == "parquet":
            yield from pq.read_table(path).to_pylist()
        else:
            yield from csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode(), newline=""))


def parts(folder: Path) -> list[Any]:
    return [each for each in package(folder)["resources"] if "finished" in each]


def table(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / name).read_text(), newline="")))


def upload(running: Running, *made: Any) -> None:
    with running.http("upload") as http:
        for run in made:
            put_all(http, run)
    running.make_history()


STORED = """
SELECT run.digest AS run, arm.name AS arm, boot.number AS boot, suite, benchmark, benchmark_case.params, metric, unit, value
FROM boot JOIN run ON run.id = boot.run_id JOIN arm ON arm.id = arm_id JOIN columns ON columns.id = columns_id,
     unnest(samples, columns.series) AS each (value, series_id) JOIN series ON series.id = each.series_id
     JOIN benchmark_case ON benchmark_case.id = case_id
WHERE of_history
"""


def key(row: Any, params: Any) -> tuple[Any, ...]:
    return (
        *(row[name] for name in ("run", "arm", "suite", "benchmark", "metric", "unit")),
        params,
        int(row["boot"]),
        float(row["value"]),
    )


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_every_sample_of_the_demonstration_is_in_it(
    form: Literal["parquet", "csv"], demonstration: Any, tmp_path: Path
) -> None:
    transaction = demonstration.service.transaction
    with transaction() as connection:
        read = connection.cursor(row_factory=dict_row)
        stored = Counter(key(row, json.dumps(dict(row["params"]))) for row in read.execute(STORED))
        commits = read.execute("SELECT commit FROM arm JOIN revision ON revision.id = revision_id").fetchall()
        hosts = read.execute("SELECT name FROM host WHERE name NOT IN (SELECT name FROM platform)").fetchall()
        (verdicts,) = read.execute("SELECT count(*) AS n FROM verdict").fetchall()
    folder = tmp_path / form
    done = write_dataset(transaction, folder, Wanted(form=form, licence="CC0-1.0"), demonstration.clock.now())
    read = list(samples(folder))
    measured = (row for row in read if row["value"] not in (None, ""))
    assert Counter(key(row, json.dumps(json.loads(row["params"]))) for row in measured) == stored
    assert (done.runs, done.rows) == (95, len(read))
    assert len(table(folder, "runs.csv")) == 95
    assert {row["commit"] for row in table(folder, "revisions.csv")} == {row["commit"] for row in commits}
    assert len(table(folder, "verdicts.csv")) == verdicts["n"]
    everything = json.dumps(read) + "".join(path.read_text() for path in folder.glob("*.csv"))
    assert not [row["name"] for row in hosts if f'"{row["name"]}"' in everything]
    assert package(folder)["cliffwatch"]["demonstration"] is True


def test_it_says_what_is_in_it(running: Running, tmp_path: Path) -> None:
    upload(running, run_of(boots=8, cases=6, shift=0.1))
    running.do_tasks()
    done = written(running, tmp_path / "out")
    found = package(tmp_path / "out")
    assert (done.written, done.kept, done.runs, done.rows) == (1, 0, 1, 96)
    assert (found["licenses"], found["created"]) == ([{"name": "CC-BY-4.0"}], running.clock.now().isoformat())
    assert found["cliffwatch"] | {"cliffwatch_version": ""} == {
        "format": "cliffwatch-dataset",
        "format_version": 1,
        "cliffwatch_version": "",
        "demonstration": False,
        "form": "parquet",
        "runs": 1,
        "rows": 96,
    }
    for each in found["resources"]:
        content = (tmp_path / "out" / each["path"]).read_bytes()
        assert each["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert each["bytes"] == len(content)
        if each["format"] == "csv":
            header = content.decode().splitlines()[0].split(",")
            assert header == [field["name"] for field in each["schema"]["fields"]]
    schema = json.loads((tmp_path / "out/table.schema.json").read_text())
    assert schema == table_schema()
    assert [field["name"] for field in schema["fields"]] == list(NAMES)
    assert {row["commit"] for row in table(tmp_path / "out", "revisions.csv")} == {
        commit_of("base"),
        commit_of("head"),
    }
    verdicts = table(tmp_path / "out", "verdicts.csv")
    assert {(row["base"], row["head"]) for row in verdicts} == {(commit_of("base"), commit_of("head"))}
    assert {"regression", "unchanged"} & {row["verdict"] for row in verdicts} == {"regression"}


def test_only_whole_runs_of_history_are_public(running: Running, tmp_path: Path) -> None:
    public, running_run, partial, private = (run_of(boots=2, cases=1, seed=seed) for seed in (1, 2, 3, 4))
    with running.http("upload") as http:
        put_all(http, public)
        http.put(
            f"/api/v1/runs/{running_run.digest}", json=record_of(running_run, "running")
        ).raise_for_status()
        put_all(http, partial, list(boots_of(partial))[:3])
        running.make_history()
        put_all(http, private)
    written(running, tmp_path / "out")
    assert {row["run"] for row in samples(tmp_path / "out")} == {public.digest}
    text = "".join(path.read_bytes().decode(errors="replace") for path in (tmp_path / "out").iterdir())
    assert "rome-1" not in text


def test_full_parts_are_not_written_again(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_RUNS", 2)
    made = [run_of(boots=2, cases=1, seed=seed) for seed in range(1, 7)]
    upload(running, *made[:3])
    first = written(running, tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")}
    upload(running, *made[3:])
    second = written(running, tmp_path)
    after = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")}
    third = written(running, tmp_path)
    assert [(each.kept, each.written, each.runs) for each in (first, second, third)] == [
        (0, 2, 3),
        (1, 2, 6),
        (3, 0, 6),
    ]
    assert [name for name, moment in before.items() if after.get(name) == moment] == [min(before)]
    assert {each["path"] for each in parts(tmp_path)} == set(after)
    assert {row["run"] for row in samples(tmp_path)} == {run.digest for run in made}
    assert [each["finished"] for each in parts(tmp_path)] == [True] * 3


def test_what_is_not_public_any_more_goes_and_what_was_damaged_is_written_anew(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_RUNS", 1)
    made = [run_of(boots=2, cases=1, seed=seed) for seed in (1, 2, 3)]
    upload(running, *made)
    written(running, tmp_path)
    with running.service.transaction() as connection:
        connection.execute("UPDATE run SET of_history = false WHERE digest = %s", [made[0].digest])
    of_second = next(each for each in parts(tmp_path) if each["runs"] == [made[1].digest])
    (tmp_path / of_second["path"]).write_bytes(b"")
    again = written(running, tmp_path)
    assert (again.kept, again.written) == (1, 1)
    assert {row["run"] for row in samples(tmp_path)} == {made[1].digest, made[2].digest}
    assert len(list(tmp_path.glob("*.parquet"))) == 2


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_part_is_compared_by_its_arms(running: Running, tmp_path: Path, form: str) -> None:
    run = run_of(boots=3, cases=2)
    upload(running, run)
    written(running, tmp_path, Wanted(form=form, licence="CC-BY-4.0"))
    (part,) = parts(tmp_path)
    path = tmp_path / part["path"]
    if form == "csv":
        path = tmp_path / "part.csv"
        path.write_bytes(gzip.decompress((tmp_path / part["path"]).read_bytes()))
    found = import_file(path)
    assert isinstance(found, ImportedFile)
    assert (list(found.arms), found.run) == (["base", "head"], run.digest)


def test_equal_content_makes_equal_files(running: Running, tmp_path: Path) -> None:
    upload(running, run_of(boots=2, cases=2))
    for name in ("a", "b"):
        for form in ("parquet", "csv"):
            written(running, tmp_path / f"{name}-{form}", Wanted(form=form, licence="CC-BY-4.0"))
    for form in ("parquet", "csv"):
        mine, other = (
            {each.name: each.read_bytes() for each in (tmp_path / f"{name}-{form}").iterdir()}
            for name in "ab"
        )
        assert mine == other


def command(running: Running, *arguments: object, **env: str) -> Result:
    settings = {
        "DATABASE_URL": running.database,
        "CLIFFWATCH_DATA_DIR": str(running.service.settings.data_dir),
        **env,
    }
    return CliRunner().invoke(dataset, [str(each) for each in arguments], env=settings)


def test_the_command_says_what_it_did_and_refuses_other_folders(running: Running, tmp_path: Path) -> None:
    upload(running, run_of(boots=2, cases=1))
    out, mine = tmp_path / "out", tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("all of it")
    assert command(running, out).exit_code == 2  # nobody's data get a licence that he did not choose
    first = command(running, out, "--licence", "CC-BY-4.0")
    assert (first.exit_code, "4 rows of 1 run; 1 part written, 0 kept" in first.stdout) == (0, True)
    other = command(running, out, "--licence", "CC-BY-4.0", "--format", "csv")
    assert (other.exit_code, "is a dataset of parquet" in other.stderr) == (2, True)
    refused = command(running, mine, "--licence", "CC-BY-4.0")
    assert (refused.exit_code, "holds other files than a dataset" in refused.stderr) == (2, True)
    assert [each.name for each in mine.iterdir()] == ["thesis.tex"]
    (out / "datapackage.json").write_text(
        '{"cliffwatch": {"format": "cliffwatch-dataset", "format_version": 2}}'
    )
    newer = command(running, out, "--licence", "CC-BY-4.0")
    assert (newer.exit_code, "this version did not write" in newer.stderr) == (2, True)


def test_a_private_service_has_no_public_dataset(running: Running, tmp_path: Path) -> None:
    ended = command(running, tmp_path / "out", "--licence", "CC-BY-4.0", CLIFFWATCH_PUBLIC_READING="false")
    assert (ended.exit_code, "nothing of this service is public" in ended.stderr) == (2, True)
    assert not (tmp_path / "out").exists()
