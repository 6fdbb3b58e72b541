"""A builder beside a worker: the job goes over as data, its end comes back, boots are kept, and nothing else
gets through.
"""

import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_documents import made_work

from cliffwatch.failure import Failure
from cliffwatch_runner.process import Finished
from cliffwatch_runner.worker.asked import suite_names
from cliffwatch_runner.worker.builder import asking
from cliffwatch_runner.worker.builder.asking import Builders, builder_job, run_in_builder
from cliffwatch_runner.worker.builder.collecting import collect
from cliffwatch_runner.worker.builder.messages import (
    LONGEST_LINE,
    SOCKET,
    BuilderJob,
    job_line,
    read_answer,
    read_job,
)
from cliffwatch_runner.worker.builder.serving import BuilderPlace, serve_one_job

JOB = BuilderJob(
    name="job-1",
    tree="/trees/mirror.git",
    measured=("--base", "a" * 40, "--head", "b" * 40, "--suite", "local-storage"),
    profile="smoke",
    mode="icount",
    platform="emulated-x86-64",
    boots="auto",
    seed="1",
)
OFFER = made_work(tree="https://git.example.org/linux.git", job="job-1")

RUN = """
import pathlib, sys
words = sys.argv[1:]
out = pathlib.Path(words[words.index("--out") + 1])
print("given:", *words)
print("there:", *sorted(str(p.relative_to(out.parent)) for p in out.parent.rglob("*") if p.is_file()))
print("cached:", *sorted(p.name for p in pathlib.Path(words[words.index("--cache") + 1]).iterdir()))
(out / "boots/0001").mkdir(parents=True, exist_ok=True)
(out / "boots/0001/boot.json").write_text("{}")
(out / "run.json").write_text('{"tree": "/trees/mirror.git", "plan": 1}')
sys.exit(3)
"""


@pytest.fixture
def place(tmp_path: Path) -> BuilderPlace:
    for name in ("exchange", "cache"):
        (tmp_path / name).mkdir()
    return BuilderPlace(
        exchange=tmp_path / "exchange",
        cache=tmp_path / "cache",
        trust="outside",
        command=(sys.executable, "-c", RUN),
        env={},
        seconds=60.0,
    )


@contextmanager
def serving(serve: Callable[[], object]) -> Iterator[None]:
    thread = threading.Thread(target=serve)
    thread.start()
    yield
    thread.join()


def asked(place: BuilderPlace, job: BuilderJob = JOB, stop: Callable[[], bool] = lambda: False) -> Finished:
    return run_in_builder(job, place.exchange, deadline=60.0, on_output=lambda _: None, should_stop=stop)


def done(place: BuilderPlace, job: BuilderJob = JOB) -> Finished:
    with serving(lambda: serve_one_job(place)):
        return asked(place, job)


def test_the_status_and_the_output_of_the_run_come_back(place: BuilderPlace) -> None:
    ended = done(place)

    assert ended.status == 3
    assert not ended.timed_out
    assert "--isolation container" in ended.output
    assert f"--out {place.exchange}/job-1" in ended.output
    assert "--trust outside" in ended.output


def test_another_job_finds_nothing_of_the_last_one(place: BuilderPlace) -> None:
    done(place)
    (place.cache / "planted").write_text("by the first tree")
    (place.exchange / "planted").symlink_to("/etc/passwd")

    ended = done(place, msgspec.structs.replace(JOB, name="job-2"))

    assert "there:\n" in ended.output
    assert "cached:\n" in ended.output
    assert not (place.exchange / "job-1").exists()


def test_the_same_job_goes_on_where_it_was(place: BuilderPlace) -> None:
    done(place)
    (place.cache / "kernel").write_text("built")

    ended = done(place, msgspec.structs.replace(JOB, resume=True))

    assert "job-1/boots/0001/boot.json" in ended.output
    assert "cached: kernel" in ended.output


def test_a_followed_branch_keeps_its_cache(place: BuilderPlace) -> None:
    (place.cache / "kernel").write_text("built")

    assert "cached: kernel" in done(replace(place, trust="followed")).output


def test_whatever_stands_in_the_sockets_place_goes(place: BuilderPlace) -> None:
    (place.exchange / SOCKET).mkdir()
    (place.exchange / SOCKET / "below").write_text("")

    assert done(place).status == 3


def test_a_job_that_takes_too_long_is_ended(place: BuilderPlace) -> None:
    sleeping = replace(place, command=(sys.executable, "-c", "import time; time.sleep(1000)"), seconds=0.3)

    ended = done(sleeping)

    assert ended.timed_out


def test_a_worker_that_stops_ends_the_run(place: BuilderPlace) -> None:
    begun = threading.Event()
    sleeping = replace(
        place, command=(sys.executable, "-uc", "import time; print('begun'); time.sleep(1000)")
    )
    with serving(lambda: serve_one_job(sleeping)):
        ended = run_in_builder(
            JOB, place.exchange, deadline=60.0, on_output=lambda _: begun.set(), should_stop=begun.is_set
        )

    assert ended.stopped


def test_a_builder_that_ends_early_is_asked_again_and_goes_on(place: BuilderPlace) -> None:
    taken: list[BuilderJob | None] = []

    def end_once() -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(place.exchange / SOCKET))
            listening.listen(1)
            worker, _ = listening.accept()
            with worker, worker.makefile("rb") as lines:
                taken.append(read_job(lines.readline()))
        serve_one_job(place)

    with serving(end_once):
        ended = asked(place)

    assert taken == [JOB]
    assert ended.status == 3
    assert "it is asked again" in ended.output


@pytest.mark.parametrize(
    "said",
    [
        b"\n" * 1000,
        b"{" * 100_000 + b"\n",
        b'{"status": "0", "timed_out": false}\n',
        b"x" * (2 * LONGEST_LINE),
        b'{"output": 5}\n\xff\xfe\n',
        b"",
    ],
)
def test_a_builder_that_says_anything_at_all_ends_as_a_failed_host(
    place: BuilderPlace, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_ATTEMPTS", 1)

    def say() -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(place.exchange / SOCKET))
            listening.listen(1)
            worker, _ = listening.accept()
            with worker:
                try:
                    worker.sendall(said)
                except OSError:
                    return

    with serving(say):
        ended = asked(place)

    assert ended.status == 4
    assert not ended.ok


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]\n",
        b"{}\n",
        job_line(JOB).replace(b'"version": 2', b'"version": 1'),
        job_line(msgspec.structs.replace(JOB, name="../other")),
        job_line(JOB).replace(b'"1"', b"1"),
        job_line(JOB).replace(b'"seed"', b'"command"'),
    ],
)
def test_what_is_no_job_is_none(line: bytes) -> None:
    assert read_job(line) is None


def test_a_job_reads_as_it_was_written() -> None:
    assert read_job(job_line(msgspec.structs.replace(JOB, resume=True))) == msgspec.structs.replace(
        JOB, resume=True
    )
    assert read_answer(b'{"nothing": 1}') is None


def measured(folder: Path, *boots: str) -> Path:
    (folder / "boots").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"tree": "/trees/mirror.git", "plan": 1}))
    for boot in boots:
        (folder / "boots" / boot / "cases").mkdir(parents=True)
        for name in ("environment.json", "samples.json", "boot.json", "cases/raw"):
            (folder / "boots" / boot / name).write_text(boot)
    return folder


def files(folder: Path) -> dict[str, Any]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_boots_that_are_done_are_collected_and_the_tree_gets_its_name(tmp_path: Path) -> None:
    source = measured(tmp_path / "source", "0001", "0002")
    (source / "boots/0002/boot.json").unlink()

    collect(source, tmp_path / "target", OFFER.tree)

    collected = files(tmp_path / "target")
    assert json.loads(collected.pop("run.json")) == {"tree": OFFER.tree, "plan": 1}
    assert set(collected) == {
        f"boots/0001/{name}" for name in ("environment.json", "samples.json", "boot.json", "cases/raw")
    }


def test_a_boot_that_was_collected_never_changes(tmp_path: Path) -> None:
    source = measured(tmp_path / "source", "0001")
    collect(source, tmp_path / "target", OFFER.tree)
    (source / "boots/0001/samples.json").write_text("others")

    collect(source, tmp_path / "target", OFFER.tree)

    assert files(tmp_path / "target")["boots/0001/samples.json"] == "0001"


def test_links_and_pipes_are_not_collected(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the worker")
    source = measured(tmp_path / "source", "0001", "0002")
    (source / "boots/0001/cases/raw").unlink()
    (source / "boots/0001/cases/raw").symlink_to(secret)
    os.mkfifo(source / "boots/0001/cases/pipe")
    (source / "boots/0003").symlink_to(tmp_path)
    (source / "boots/0002/cases/raw").unlink()
    os.link(secret, source / "boots/0002/cases/raw")

    collect(source, tmp_path / "target", OFFER.tree)

    assert "of the worker" not in files(tmp_path / "target").values()
    assert sorted(path.name for path in (tmp_path / "target/boots").iterdir()) == ["0001", "0002"]


@pytest.mark.parametrize("record", ["", "[]", "{" * 100_000, "link"])
def test_a_record_that_is_none_is_not_collected(tmp_path: Path, record: str) -> None:
    source = measured(tmp_path / "source", "0001")
    (source / "run.json").unlink()
    if record == "link":
        (source / "run.json").symlink_to("/etc/passwd")
    else:
        (source / "run.json").write_text(record)

    collect(source, tmp_path / "target", OFFER.tree)

    assert not (tmp_path / "target/run.json").exists()


def test_a_tree_that_may_not_be_fetched_is_never_asked_of_a_builder(tmp_path: Path) -> None:
    offer = made_work(tree="http://127.0.0.1/linux.git")

    assert isinstance(builder_job(offer, "public", tmp_path, (), resume=False), Failure)


def test_who_has_no_builder_of_his_own_is_built_as_anybody() -> None:
    one = Builders(exchanges={"outside": Path("/exchange/outside")}, trees=Path("/trees"))

    assert one.exchange("followed") == Path("/exchange/outside")


def test_a_job_names_no_folder_of_this_host_as_its_suite() -> None:
    assert (
        suite_names(made_work(suites=("ringbufs", "./../home", "/srv/mine")))
        == "ringbufs,._.._home,_srv_mine"
    )
