"""A disk that is full under a worker's spool: the job fails as its host's, what was measured is sent, and the
next one is done.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from surviving_worker import RUN, STAND_IN, Service, do, host, job

from cliffwatch_runner.worker.spool import Spool

FILL = """
import errno
with open({ballast!r}, "ab", buffering=0) as file:
    for size in (1 << 16, 4096, 1):
        try:
            while True: file.write(bytes(size))
        except OSError: pass
for number in range(100_000):
    try: open({ballast!r} + str(number), "x").close()
    except OSError: break
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of eight MiB and two hundred files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=8m,nr_inodes=200", "none", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(words, capture_output=True, check=False).returncode == 0
    if not mounted:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    subprocess.run([sys.executable, "-c", FILL.format(ballast=str(disk / "ballast"))], check=True)


def make_room(disk: Path) -> None:
    for path in disk.glob("ballast*"):
        path.unlink()


class Ends(dict[str, dict[str, Any]]):
    """Makes room on the disk when the end of a job has come."""

    def __init__(self, disk: Path) -> None:
        super().__init__()
        self.disk = disk

    def __setitem__(self, lease: str, end: dict[str, Any]) -> None:
        super().__setitem__(lease, end)
        make_room(self.disk)


def test_a_disk_that_is_full_before_the_job(small_disk: Path, tmp_path: Path) -> None:
    spool = small_disk / "spool"
    spool.mkdir()
    fill(small_disk)
    service = Service(job("first"), job("second"))
    service.ended = Ends(small_disk)
    lines = do(service, host(tmp_path), spool)

    assert service.ended["lease-first"]["outcome"] == "host-failed", (lines, service.ended)
    assert "No space left" in service.ended["lease-first"]["reason"]
    assert service.ended["lease-second"]["outcome"] == "done", service.ended["lease-second"]
    assert any("No space left" in line for line in lines)


def test_a_run_that_fills_the_disk_with_its_last_file(small_disk: Path, tmp_path: Path) -> None:
    """All was measured: it is sent although nothing more can be written here."""
    spool = small_disk / "spool"
    where = host(tmp_path, after=FILL.format(ballast=str(small_disk / "ballast")))
    service = Service(job("first"))
    lines = do(service, where, spool)

    boots = [json.loads(each) for each in service.sent if each.startswith(b'{"boot"')]
    assert len(boots) in (2, 4), "sent again at worst"
    assert any("cannot be marked" in line for line in lines), lines
    assert service.ended["lease-first"]["outcome"] == "done"
    make_room(small_disk)
    do(Service(), where, spool)
    assert list(Spool(spool).waiting()) == []


def test_a_run_that_cannot_write_its_results(small_disk: Path, tmp_path: Path) -> None:
    spool = small_disk / "spool"
    first = "import sys, pathlib\nif 'first' in sys.argv[sys.argv.index('--out') + 1]:\n"
    filling = first + "".join(
        f"    {line}\n" for line in FILL.format(ballast=str(small_disk / "ballast")).splitlines()
    )
    where = host(tmp_path)
    where = replace(where, command=(sys.executable, "-c", filling + STAND_IN, str(RUN)))
    service = Service(job("first"), job("second"))
    service.ended = Ends(small_disk)
    lines = do(service, where, spool)

    assert service.ended["lease-first"]["outcome"] == "host-failed", (lines, service.ended)
    assert service.ended["lease-second"]["outcome"] == "done", service.ended["lease-second"]
    assert (
        not (spool / "first" / "delivered").exists()
        or not (spool / "first" / "results" / "run.json").exists()
    )
