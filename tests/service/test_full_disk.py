"""A disk that is full under the service: refused and said, nothing half stored, and on it goes when there is room."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from service_runs import boots_of, record_of, run_of

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from load.served import served

MIB = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 160 MiB with a ballast of 60, on which a database fits and not much more."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160m", "none", str(place)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("only root may mount a small file system")
    (place / "ballast").write_bytes(b"\0" * 60 * MIB)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.timeout(300)
def test_a_full_disk_refuses_uploads_and_loses_none(small_disk: Path) -> None:
    with served(small_disk) as service, service.http() as http:
        sent: list[tuple[str, int]] = []
        refused = None
        for seed in range(200):
            run = run_of(boots=3, cases=3000, seed=seed)
            if http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, "running")).status_code != 201:
                refused = (run, 0, None)
                break
            for number, body in boots_of(run):
                answer = http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body)
                if answer.status_code != 201:
                    refused = (run, number, body)
                    break
                sent.append((run.digest, number))
            if refused:
                break
        assert refused is not None, "the disk was not full after 200 runs"
        run, number, body = refused

        (small_disk / "ballast").unlink()
        for _ in range(120):
            http_up = http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, "running")).status_code
            if http_up in (200, 201):
                break
        assert http_up in (200, 201)
        if body is not None:
            assert http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).status_code in (200, 201)
            sent.append((run.digest, number))
        stored = service.rows(
            "SELECT run.digest, number FROM boot JOIN run ON run.id = run_id JOIN boot_document USING (run_id, number)"
        )
    assert sorted(stored) == sorted(sent)
