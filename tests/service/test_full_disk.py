"""A disk that is full under the service: refused and said, nothing half stored, and on it goes when there is
room.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from load.served import served
from service_runs import boots_of, record_of, run_of

MIB = 1 << 20


@pytest.fixture
def small_disk(open_folder: Path) -> Iterator[Path]:
    """A file system of 120 MiB with a ballast of 40, on which a database fits and not much more."""
    folder = open_folder / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=120m", "none", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("only root may mount a small file system")
    (folder / "ballast").write_bytes(b"\0" * 40 * MIB)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_full_disk_refuses_uploads_and_loses_none(small_disk: Path) -> None:
    bodies = {number: json.dumps(body) for number, body in boots_of(run_of(boots=10, cases=3000))}
    with served(small_disk) as service, service.http() as http:
        http.headers["Content-Type"] = "application/json"
        sent: list[tuple[str, int]] = []
        refused = _until_refused(http, bodies, sent)
        assert refused is not None, "the disk was never full"
        (small_disk / "ballast").unlink()
        # PostgreSQL may have died of it: it is started anew, and the sender sends again.
        assert any(http.put(refused[0], content=refused[1]).status_code in (200, 201) for _ in range(120))
        stored = service.rows(
            "SELECT run.digest, number FROM boot JOIN run ON run.id = run_id JOIN boot_document USING"
            " (run_id, number)"
        )
    if "/boots/" in refused[0]:
        _, _, run, _, number = refused[0].removeprefix("/").rsplit("/", 4)
        sent.append((run, int(number)))
    assert sorted(stored) == sorted(sent)


def _until_refused(
    http: httpx2.Client, bodies: dict[int, str], sent: list[tuple[str, int]]
) -> tuple[str, str] | None:
    """Address and body of the first upload that was not taken; those that were are added to `sent`."""
    for seed in range(100):
        run = run_of(boots=10, cases=3000, seed=seed)
        uploads = [(f"/api/v1/runs/{run.digest}", json.dumps(record_of(run, "running")))]
        uploads += [(f"/api/v1/runs/{run.digest}/boots/{number}", body) for number, body in bodies.items()]
        for number, (address, body) in enumerate(uploads):
            if http.put(address, content=body).status_code != 201:
                return address, body
            if number:
                sent.append((run.digest, number))
    return None
