"""Whatever a job leaves, its worker marks it failed, keeps what it left, and takes the next one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from made_documents import made_work
from surviving_worker import RUN, Service, do, host, job

from cliffwatch.failure import HttpFailure
from cliffwatch_runner.sandbox.untrusted_files import remove_tree
from cliffwatch_runner.upload.client import Client
from cliffwatch_runner.upload.result_directory import Uploaded, upload_run
from cliffwatch_runner.worker import delivery
from cliffwatch_runner.worker import job as worker_job
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_runner.worker.spool import Spool

SECRET = "the-secret-of-the-host"


def break_for(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception) -> None:
    """Lets the upload of one job's results fail as no code expects."""

    def breaking(client: Client, folder: Path, host: str, **more: Any) -> Any:
        if name in str(folder):
            raise error
        return upload_run(client, folder, host, **more)

    for module in (worker_job, delivery):
        monkeypatch.setattr(module, "upload_run", breaking)


ERRORS = [
    RecursionError("maximum recursion depth exceeded"),
    ValueError("a\nname\x1b[31m"),
    MemoryError(),
    KeyError("x"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_results_that_cannot_be_handled_fail_their_job_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    break_for(monkeypatch, "poison", error)
    service = Service(job("poison"), job("good"))
    lines = do(service, host(tmp_path), tmp_path / "spool")

    assert service.ended["lease-good"]["outcome"] == "done"
    assert service.ended["lease-poison"]["outcome"] == "host-failed"
    assert type(error).__name__ in service.ended["lease-poison"]["reason"]
    aside = tmp_path / "spool" / "poison" / "results.aside-1"
    assert (aside / "run.json").read_text() == (RUN / "run.json").read_text()
    assert "Traceback" in aside.with_name("results.aside-1.why").read_text()
    assert str(aside) in "\n".join(lines)
    assert "\x1b" not in "".join(lines)
    assert not list(Spool(tmp_path / "spool").waiting())


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_lies_in_the_spool_at_the_start_ends_no_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    break_for(monkeypatch, "poison", error)
    spool = Spool(tmp_path / "spool")
    for name in ("poison", "good"):
        shutil.copytree(RUN, spool.begin(made_work(job=name)).results)
    lines = do(Service(), host(tmp_path), tmp_path / "spool")

    assert "sent the results of job good: 2 boots" in lines
    assert (tmp_path / "spool" / "poison" / "results.aside-1" / "run.json").exists()
    assert not list(spool.waiting())


def test_a_job_that_was_put_aside_begins_anew_when_it_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        break_for(broken, "again", RecursionError())
        do(Service(job("again")), host(tmp_path), tmp_path / "spool")
    service = Service(job("again"))
    do(service, host(tmp_path), tmp_path / "spool")

    assert service.ended["lease-again"]["outcome"] == "done"
    assert sorted(path.name for path in (tmp_path / "spool" / "again").iterdir()) == [
        *("delivered", "job.json", "log", "results", "results.aside-1", "results.aside-1.why")
    ]


FILES = (
    "run.json",
    "boots/001-base/boot.json",
    "boots/001-base/samples.json",
    "boots/001-base/environment.json",
)
KINDS = {
    "link": lambda path, secret: path.symlink_to(secret),
    "dangling link": lambda path, secret: path.symlink_to(secret.with_name("none")),
    "pipe": lambda path, _: os.mkfifo(path),
    "folder": lambda path, _: path.mkdir(),
    "device": lambda path, _: os.mknod(path, 0o020666, os.makedev(1, 5)),
    "huge file": lambda path, _: (path.touch(), os.truncate(path, 1 << 40)),
    "deep JSON": lambda path, _: path.write_text("[" * 200_000),
    "JSON of another kind": lambda path, _: path.write_text("[1]"),
    "no text": lambda path, _: path.write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_every_file_that_is_uploaded_is_something_else(tmp_path: Path, name: str, kind: str) -> None:
    """As an earlier version, or a disk that lost something, may have left it in the spool."""
    if kind == "device" and os.geteuid() != 0:
        pytest.skip("only root may make devices")
    secret = tmp_path / "secret"
    secret.write_text(json.dumps({"secret": SECRET, "index": 1}))
    spool = Spool(tmp_path / "spool")
    for each in ("poison", "good"):
        shutil.copytree(RUN, spool.begin(made_work(job=each)).results)
    path = spool.begin(made_work(job="poison")).results / name
    path.unlink()
    KINDS[kind](path, secret)
    service = Service(job("next"))
    lines = do(service, host(tmp_path), tmp_path / "spool")

    assert service.ended["lease-next"]["outcome"] == "done"
    assert "sent the results of job good: 2 boots" in lines
    assert SECRET.encode() not in b"".join(service.sent)
    assert [each.folder.name for each in spool.waiting()] in ([], ["poison"])


def test_odd_folders_in_a_spooled_boot_are_not_sent_and_stop_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    results = spool.begin(made_work(job="poison")).results
    shutil.copytree(RUN, results)
    odd = results / "boots" / "001-base" / "1" / "odd"
    odd.mkdir()
    (odd / "a\nb").touch()
    nest = 'import os\nfor _ in range(1500): os.mkdir("d"); os.chdir("d")'
    subprocess.run([sys.executable, "-c", nest], cwd=odd, check=True)
    try:
        lines = do(Service(job("next")), host(tmp_path), tmp_path / "spool")
        assert "sent the results of job poison: 2 boots" in lines
    finally:
        remove_tree(odd)  # pytest cannot


def test_a_job_that_the_service_names_oddly_is_failed_and_the_next_one_taken(tmp_path: Path) -> None:
    service = Service(
        job("../../escape", lease="odd"), {"job": 7}, ["no job"], job("half", suites=None), job("good")
    )
    do(service, host(tmp_path), tmp_path / "spool")

    assert service.ended["odd"]["outcome"] == "host-failed"
    assert (
        service.ended["lease-half"]["reason"]
        == "this host cannot read the job: suites: Expected array, got null"
    )
    assert service.ended["lease-good"]["outcome"] == "done"
    assert not (tmp_path.parent / "escape").exists()


def test_a_reason_that_the_service_never_takes_is_not_sent_for_ever(tmp_path: Path) -> None:
    service = Service(job("poison"), job("good"))
    service.refusing = [
        HttpFailure(whose="usage", message="the reason holds what cannot be stored", next_step="", status=422)
    ]
    do(service, host(tmp_path), tmp_path / "spool")

    assert service.ended["lease-poison"]["outcome"] == "host-failed"
    assert service.ended["lease-good"]["outcome"] == "done"
    assert (tmp_path / "spool" / "poison" / "results.aside-1" / "run.json").exists()


def test_a_run_that_crashed_is_not_done(tmp_path: Path) -> None:
    """Python ends with 1 where nothing catches an error, which is also what --fail-on answers: a job asks for
    no such thing.
    """
    service = Service(job("crashed"))
    do(service, host(tmp_path, after="raise RuntimeError('a\\x00b\\x1b[31m')"), tmp_path / "spool")

    ended = service.ended["lease-crashed"]
    assert ended["outcome"] == "host-failed"
    assert "RuntimeError" in ended["reason"]
    assert ended["reason"].replace("\n", "").isprintable()


def test_a_host_that_cannot_look_at_its_disk_ends_the_job_and_not_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(JobLimits, "exceeded", failing)
        service = Service(job("unlucky"))
        do(service, host(tmp_path), tmp_path / "spool")
    assert service.ended["lease-unlucky"]["outcome"] == "host-failed"
    assert "ZeroDivisionError" in service.ended["lease-unlucky"]["reason"]


def test_results_are_read_through_descriptors(tmp_path: Path) -> None:
    """A folder of boots that is a link leads nowhere."""
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    shutil.move(run / "boots" / "001-base" / "1", tmp_path / "elsewhere")
    (run / "boots" / "001-base" / "1").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "dmesg").write_text(SECRET)
    service = Service()

    uploaded = upload_run(service, run, "emulator-1")

    assert isinstance(uploaded, Uploaded)
    assert SECRET.encode() not in b"".join(service.sent)
