"""Whether every result is there once, as its host measured it."""

import json
from collections.abc import Sequence
from pathlib import Path

from load.served import Served

from simulated_day.day import BOOTS, CASES, Push, boots_planned


def wrong_results(service: Served, pushes: Sequence[Push], spools: Path) -> list[str]:
    """What is lost, duplicated or altered, in words."""
    jobs, boots = sum(len(push.targets) for push in pushes), boots_planned(pushes)
    wrong = []
    for what, query, expected in (
        ("requests", "SELECT count(*) FROM request", len(pushes)),
        ("jobs", "SELECT count(*) FROM job", jobs),
        ("jobs that are done", "SELECT count(*) FROM job WHERE state = 'done'", jobs),
        ("leases", "SELECT count(*) FROM lease", jobs),
        ("runs", "SELECT count(*) FROM run", jobs),
        ("runs that are complete", "SELECT count(*) FROM run WHERE status = 'complete'", jobs),
        ("jobs that name a run of their own", "SELECT count(DISTINCT run_id) FROM job", jobs),
        ("boots", "SELECT count(*) FROM boot", boots),
        ("samples", "SELECT coalesce(sum(cardinality(samples)), 0) FROM boot", boots * CASES),
        ("documents of boots", "SELECT count(*) FROM boot_document", boots),
        ("raw outputs", "SELECT count(*) FROM raw_output", boots),
        # Readers have others made: of arms of two runs, where one is not whole yet.
        (
            "comparisons of a run's own arms",
            (
                "SELECT count(*) FROM comparison JOIN arm ON arm.id = base_arm_id JOIN arm AS head USING"
                " (run_id) WHERE head.id = head_arm_id"
            ),
            jobs,
        ),
        ("failed tasks", "SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed'", 0),
    ):
        count = int(service.rows(query)[0][0])
        if count != expected:
            wrong.append(f"{count:,} {what}, expected {expected:,}")
    stored = service.rows(
        "SELECT job.id::text, host.name, number, samples FROM job JOIN run ON run.id = job.run_id JOIN host"
        " ON host.id = host_id JOIN boot ON boot.run_id = run.id"
    )
    wrong += [
        f"boot {number} of job {job} is not what {host} measured"
        for job, host, number, samples in stored
        if sorted(samples) != measured(spools / host / job / "results", int(number))
    ]
    return wrong


def measured(results: Path, number: int) -> list[float]:
    """What the host's spool has of a boot."""
    (file,) = (results / "boots").glob(f"{number:03d}-*/samples.json")
    return sorted(each["value"] for each in json.loads(file.read_text())["samples"])


def templates(folder: Path, raw: Path) -> None:
    """What stand-in jobs fill in: a run of each mode as the tests make them, with raw outputs of a real
    guest.
    """
    from service_runs import boots_of, run_of  # noqa: PLC0415 - lies with the tests

    outputs = sorted(path for path in raw.glob("*.out"))[:CASES]
    files = {f"1/cases/{number:03d}-{path.name}": path.read_text() for number, path in enumerate(outputs)}
    files |= {"1/dmesg": (raw / "dmesg.txt").read_text(), "1/bench-list": (raw / "list.txt").read_text()}
    for mode, boots in BOOTS.items():
        run = run_of(boots=boots, cases=CASES, mode=mode)
        like = {"record": run.record, "boots": [body for _, body in boots_of(run)], "raw": files}
        (folder / f"{mode}.json").write_text(json.dumps(like))
