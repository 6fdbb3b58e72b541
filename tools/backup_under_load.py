"""Backs a service up while runs come in, restores it elsewhere, and holds the copy against the original.

    tools/backup_under_load.py [SECONDS] [SEED]

Runs are uploaded for SECONDS (default 60) by two clients; half-way `cliffwatch backup` writes a file.
Every boot that the copy has must have the original's samples, document and digest (one SHA-256 over all of
them), every boot of the copy its run, arm and columns, and what the copy lacks must have been received
after the backup began.
"""

import hashlib
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from load.served import COMMAND, Served, environment, served
from service_runs import put_all, run_of

CLIENTS = 2

_BOOTS = """
SELECT run.digest, boot.number, boot.digest, array_to_string(samples, ','), md5(content), arm.name, boot.received
FROM boot JOIN boot_document USING (run_id, number) JOIN run ON run.id = run_id JOIN arm ON arm.id = arm_id
JOIN columns ON columns.id = columns_id ORDER BY 1, 2
"""


def upload(service: Served, client: int, seed: int, end: float, uploaded: list[str]) -> None:
    """Runs of one client, one after the other, until the end."""
    number = 0
    with service.http() as http:
        while time.monotonic() < end:
            number += 1
            run = run_of(
                boots=5, cases=60, seed=seed * 1_000_000 + client * 100_000 + number, host=f"desk-{client}"
            )
            put_all(http, run)
            uploaded.append(run.digest)


def boots_of(database: str) -> list[Any]:
    with psycopg.connect(database) as connection:
        return connection.execute(_BOOTS).fetchall()


def hash_over(boots: list[Any]) -> str:
    digest = hashlib.sha256()
    for boot in boots:
        digest.update(repr(boot[:-1]).encode())
    return digest.hexdigest()


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    uploaded: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        original, copy, file = Path(folder, "original"), Path(folder, "copy"), Path(folder, "backup")
        original.mkdir()
        copy.mkdir()
        with served(original) as service:
            end = time.monotonic() + seconds
            clients = [
                threading.Thread(target=upload, args=(service, client, seed, end, uploaded))
                for client in range(CLIENTS)
            ]
            for client in clients:
                client.start()
            time.sleep(seconds / 2)
            began, before = datetime.now(UTC), time.monotonic()
            subprocess.run([COMMAND, "backup", str(file)], env=environment(original), check=True)
            took = time.monotonic() - before
            for client in clients:
                client.join()
            everything = boots_of(service.database)
        subprocess.run([COMMAND, "restore", str(file)], env=environment(copy), check=True)
        with served(copy, token=service.token) as restored:  # the copy has its tokens too
            boots = boots_of(restored.database)
    there = {(boot[0], boot[1]) for boot in boots}
    same = [boot for boot in everything if (boot[0], boot[1]) in there]
    lost = [boot for boot in everything if (boot[0], boot[1]) not in there and boot[-1] < began]
    equal = hash_over(boots) == hash_over(same)
    samples = sum(boot[3].count(",") + 1 for boot in boots)
    print(
        f"{len(everything):,} boots of {len(uploaded):,} runs came in; the backup took {took:.1f} s and holds"
        f" {len(boots):,} boots, {samples:,} samples: {hash_over(boots)[:16]}, the original's"
        f" {hash_over(same)[:16]}"
    )
    print(f"{'equal' if equal else 'DIFFERENT'}; {len(lost)} boots of before the backup are missing")
    sys.exit(not equal or bool(lost) or not boots or len(everything) == len(boots))


if __name__ == "__main__":
    main()
