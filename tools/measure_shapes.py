"""What a stored sample costs in each physical shape: disk, and the three reads that matter. Writes a table to
stdout.

    tools/measure_shapes.py SAMPLES [FOLDER]

Shapes: a row a sample; the same, partitioned by time; an array of boots per arm and series; an array of
series per boot with a point per arm and series beside it, which is what db/migrations has. 6,000 series,
21 boots an arm; values are random, as measured values are to a compressor. Every figure is of a vacuumed
table, the read the median of 15 of different keys.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from cliffwatch_service.postgres.embedded import start_embedded

SERIES, BOOTS = 6000, 21

NARROW = """
CREATE TABLE narrow (series int NOT NULL, arm int NOT NULL, boot smallint NOT NULL, value float8 NOT NULL){how};
{parts}
INSERT INTO narrow SELECT series, arm, boot, random() FROM generate_series(1, {arms}) arm,
  generate_series(1, {boots}) boot, generate_series(1, {series}) series;
CREATE INDEX ON narrow (series, arm); CREATE INDEX ON narrow (arm);
"""

PER_ARM = """
CREATE TABLE per_arm (series int NOT NULL, arm int NOT NULL, samples float8[] NOT NULL);
INSERT INTO per_arm SELECT series, arm, ARRAY(SELECT random() FROM generate_series(1, {boots}) WHERE arm > 0 AND series > 0)
  FROM generate_series(1, {arms}) arm, generate_series(1, {series}) series;
CREATE INDEX ON per_arm (series, arm); CREATE INDEX ON per_arm (arm);
"""

PER_BOOT = """
CREATE TABLE per_boot (arm int NOT NULL, boot smallint NOT NULL, samples float8[] NOT NULL);
ALTER TABLE per_boot ALTER COLUMN samples SET STORAGE EXTERNAL;
INSERT INTO per_boot SELECT arm, boot, ARRAY(SELECT random() FROM generate_series(1, {series}) WHERE arm > 0 AND boot > 0)
  FROM generate_series(1, {arms}) arm, generate_series(1, {boots}) boot;
CREATE INDEX ON per_boot (arm);
CREATE TABLE point (series int NOT NULL, arm bigint NOT NULL, revision int NOT NULL, environment int NOT NULL,
  n smallint NOT NULL, centre float8 NOT NULL, low float8, high float8);
INSERT INTO point SELECT series, arm, arm, 1, {boots}, random(), random(), random()
  FROM generate_series(1, {arms}) arm, generate_series(1, {series}) series;
CREATE UNIQUE INDEX ON point (series, arm) INCLUDE (revision, environment, n, centre, low, high);
"""

READS = {
    "narrow": (
        (
            "SELECT series, array_agg(value) FROM narrow WHERE arm IN (%(arm)s, %(arm)s + 1) GROUP BY"
            " series, arm"
        ),
        (
            "SELECT arm, percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FROM narrow WHERE series ="
            " %(series)s GROUP BY arm"
        ),
    ),
    "per_arm": (
        "SELECT series, samples FROM per_arm WHERE arm IN (%(arm)s, %(arm)s + 1)",
        "SELECT arm, samples FROM per_arm WHERE series = %(series)s",
    ),
    "per_boot": (
        "SELECT boot, samples FROM per_boot WHERE arm IN (%(arm)s, %(arm)s + 1)",
        "SELECT arm, n, centre, low, high FROM point WHERE series = %(series)s",
    ),
}


def main() -> None:
    samples = int(sys.argv[1])
    arms = max(2, samples // SERIES // BOOTS)
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        postgres = start_embedded(Path(folder))
        try:
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                connection.execute("SET maintenance_work_mem = '1GB'; SET jit = off")
                print(f"{arms * SERIES * BOOTS:,} samples: {arms} arms of {BOOTS} boots, {SERIES} series")
                print(
                    f"{'shape':34} {'bytes a sample':>14} {'write, M/s':>11} {'compare, ms':>12}"
                    f" {'history, ms':>12}"
                )
                for name, table, statement in shapes(arms):
                    measure(connection, name, table, statement, arms)
        finally:
            postgres.stop()


def shapes(arms: int) -> list[tuple[str, str, str]]:
    size = {"arms": arms, "boots": BOOTS, "series": SERIES}
    bounds = [(part * arms // 12 + 1, (part + 1) * arms // 12 + 1) for part in range(12)]
    parts = " ".join(
        f"CREATE TABLE narrow_{number} PARTITION OF narrow FOR VALUES FROM ({low}) TO ({high});"
        for number, (low, high) in enumerate(bounds)
        if low < high
    )
    return [
        ("array of series per boot, points", "per_boot", PER_BOOT.format(**size)),
        ("array of boots per arm and series", "per_arm", PER_ARM.format(**size)),
        ("a row a sample", "narrow", NARROW.format(how="", parts="", **size)),
        (
            "the same in 12 partitions",
            "narrow",
            NARROW.format(how=" PARTITION BY RANGE (arm)", parts=parts, **size),
        ),
    ]


def measure(connection: psycopg.Connection, name: str, table: str, statement: str, arms: int) -> None:
    began = time.perf_counter()
    connection.execute(statement)
    seconds = time.perf_counter() - began
    connection.execute("VACUUM ANALYZE")
    tables = [table, "point"] if table == "per_boot" else [table]
    size = sum(
        row[0]
        for each in tables
        for row in connection.execute(
            "SELECT pg_total_relation_size(c.oid) FROM pg_class c WHERE c.relkind = 'r' AND (relname = %s OR"
            " relname LIKE %s)",
            [each, each + r"\_%"],
        ).fetchall()
    )
    count = arms * SERIES * BOOTS
    compare, history = (read(connection, query, arms) for query in READS[table])
    print(
        f"{name:34} {size / count:14.1f} {count / seconds / 1e6:11.2f} {compare:12.1f} {history:12.1f}",
        flush=True,
    )
    for each in tables:
        connection.execute(f"DROP TABLE {each}")


def read(connection: psycopg.Connection, query: str, arms: int) -> float:
    def one(turn: int) -> float:
        keys = {"arm": 1 + turn * 7919 % max(1, arms - 1), "series": 1 + turn * 7919 % SERIES}
        began = time.perf_counter()
        connection.execute(query, keys, binary=True).fetchall()
        return (time.perf_counter() - began) * 1000

    timed: Callable[[int], float] = one
    return statistics.median(timed(turn) for turn in range(15))


main()
