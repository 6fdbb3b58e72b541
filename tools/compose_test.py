"""docker-compose.yml held to what docs/operations.md promises, on a container engine of this machine.

    .venv/bin/python tools/compose_test.py [STEP…]      images up request result attacks down upgrade backup remove; all of them, in this order

Images are built from the checkout; a request from outside is built, booted, measured and shown while each
container in turn is killed; its values are kept by `down` and `up`, by a new version with a migration, and
by backups from and to an embedded PostgreSQL. Takes most of an hour on two cores and 20 GB of disk.
Grafana takes part where its image is there. POSTGRES_VERSION names the PostgreSQL. Containers and volumes
of the project `cliffwatch-test` are left where a step fails, and removed by the last one.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2

from cliffwatch.failure import Failure
from cliffwatch_runner.source.access import plan_local_fetch
from cliffwatch_runner.source.git import git
from cliffwatch_runner.source.tree import open_tree

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cliffwatch-compose"
PORT = os.environ.get("CLIFFWATCH_PORT", "8765")
URL = f"http://127.0.0.1:{PORT}/api/v1"
REGISTRY = "cliffwatch-test"
POSTGRES = os.environ.get("POSTGRES_VERSION", "18")
ENVIRONMENT = {
    **os.environ,
    "COMPOSE_PROJECT_NAME": "cliffwatch-test",
    "CLIFFWATCH_REGISTRY": REGISTRY,
    "CLIFFWATCH_VERSION": "now",
    "CLIFFWATCH_PORT": PORT,
    "CLIFFWATCH_TREES": "git://git/",
    "TREES": str(CACHE / "trees"),
}
PARTS = ["service", "tasks", "worker", "builder-outside", "builder-followed", "git"]
KILLED = ("postgres", "service", "tasks", "worker", "builder-outside")
STATE = CACHE / "state.json"
"""What one step leaves to the next ones."""


def call(
    argv: Sequence[str | Path], *, check: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*map(str, argv)],
        cwd=ROOT,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if check and done.returncode != 0:
        raise SystemExit(
            f"{' '.join(map(str, argv))}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return done


def compose(*words: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    files = ("--file", "docker-compose.yml", "--file", "tests/compose/git-server.yml", "--profile", "worker")
    return call(["docker", "compose", *files, *words], check=check, **environment)


def here(*words: str | Path) -> None:
    """A command of this machine's own Cliffwatch, which knows none of the composition's settings."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("CLIFFWATCH_")}
    done = subprocess.run([BIN / "cliffwatch", *words], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"cliffwatch {words[0]}: {done.stderr[-2000:]}")


def say(text: str) -> None:
    print(f"{time.strftime('%T')}  {text}", flush=True)


def until(what: str, holds: Callable[[], bool], seconds: float) -> None:
    """Waits for something that another process does."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(
                f"{what}: not within {seconds:.0f} s\n{compose('logs', '--tail', '30', check=False).stdout}"
            )
        time.sleep(2)


def state(**new: Any) -> dict[str, Any]:
    kept = json.loads(STATE.read_text()) if STATE.exists() else {}
    if new:
        STATE.parent.mkdir(parents=True, exist_ok=True)
        STATE.write_text(json.dumps({**kept, **new}))
    return {**kept, **new}


def answer(path: str) -> Any:
    return httpx2.get(f"{URL}{path}", timeout=60).raise_for_status().json()


def values() -> str:
    return httpx2.get(f"{URL}/runs/{state()['run']}/export?format=csv", timeout=60).raise_for_status().text


def unchanged(when: str) -> None:
    if "values" not in state():
        say(f"{when}: healthy; no request was made, so that there are no values to compare")
        return
    if values() != state()["values"]:
        raise SystemExit(f"{when}: the values are others")
    say(f"{when}: every value is there")


def images() -> None:
    """Builds all images and says how long that took and how large they are."""
    built = [
        "docker",
        "build",
        "--quiet",
        "--file",
        "images/toolchain/Dockerfile",
        "--tag",
        f"{REGISTRY}/toolchain:now",
        ".",
    ]
    for name, build in (
        ("toolchain", lambda: call(built)),
        ("runner", lambda: compose("build", "--quiet", "worker")),
        ("service", lambda: compose("build", "--quiet", "service")),
    ):
        began = time.monotonic()
        build()
        size = call(["docker", "image", "inspect", "--format", "{{.Size}}", f"{REGISTRY}/{name}:now"]).stdout
        say(f"{name}: {int(size) / 1e6:.0f} MB, built in {time.monotonic() - began:.0f} s")


def up(version: str = "now") -> None:
    """Starts what is not running, and waits until it is well."""
    parts = list(PARTS)
    grafana = next(
        name for name in compose("config", "--images").stdout.split() if name.startswith("grafana/")
    )
    if call(["docker", "image", "inspect", grafana], check=False).returncode == 0:
        parts.append("grafana")
    began = time.monotonic()
    compose("up", "--detach", "--wait", "--wait-timeout", "300", *parts, CLIFFWATCH_VERSION=version)
    say(
        f"healthy after {time.monotonic() - began:.0f} s"
        + ("" if "grafana" in parts else f" (without {grafana}: not here)")
    )


def repository() -> dict[str, str]:
    """A repository of two revisions: the distribution's kernel, and the example patch on it."""
    folder = CACHE / "trees/linux.git"
    if not folder.exists():
        archive = max(Path("/usr/src").glob("linux-source-*.tar.*"))
        tree = open_tree(str(archive), CACHE, "own")
        assert not isinstance(tree, Failure), tree
        base = tree.resolve("HEAD")
        assert not isinstance(base, Failure), base
        head = tree.with_patch(base, ROOT / "examples/uninline-local-storage-lookup.patch")
        assert not isinstance(head, Failure), head
        git(["init", "--quiet", "--bare", str(folder)])
        git(["config", "uploadpack.allowAnySHA1InWant", "true"], git_dir=folder)
        for name, revision in (("base", base), ("head", head)):
            words = ["push", "--quiet", str(folder), f"{revision.commit}:refs/heads/{name}"]
            git(words, git_dir=tree.mirror, fetching=plan_local_fetch(folder))
    return {name: git(["rev-parse", name], git_dir=folder).output.strip() for name in ("base", "head")}


def job() -> dict[str, Any]:
    """The one job of the request; empty while the service is away."""
    try:
        found: dict[str, Any] = answer(f"/requests/{state()['request']}")["jobs"][0]
    except httpx2.HTTPError:
        return {}
    return found


def request() -> None:
    """Asks from outside, and kills each container while the job runs."""
    secret = compose(
        "exec",
        "-T",
        "service",
        "cliffwatch",
        "token",
        "make",
        f"tester-{time.time():.0f}",
        "--scope",
        "upload",
    ).stdout
    body = {
        "tree": "git://git/linux.git",
        **repository(),
        "targets": [{"platform": "emulated-x86-64", "mode": "icount"}],
        "suites": ["local-storage"],
        "profile": "smoke",
    }
    headers = {"Authorization": f"Bearer {secret.strip()}", "Idempotency-Key": f"compose-test {time.time()}"}
    asked = httpx2.post(f"{URL}/requests", json=body, headers=headers, timeout=60).raise_for_status().json()
    state(request=asked["request"])
    until("the job is taken", lambda: job().get("state") == "leased", 300)
    for part in KILLED:
        until(f"the job runs before {part} is killed", lambda: job().get("state") == "leased", 300)
        time.sleep(30)
        compose("kill", part)
        say(f"killed {part}")
        up()


def result() -> None:
    """Waits for the end of the job, and looks at what was measured."""
    until("the job ends", lambda: job().get("state") not in (None, "queued", "leased"), 3 * 3600)
    ended = job()
    if ended["state"] != "done":
        raise SystemExit(f"the job is {ended['state']}: {ended}")
    run = answer("/runs?limit=1")["items"][0]["run"]
    state(run=run)
    state(values=values())
    say(f"run {run}: {len(values().splitlines()) - 1} values")
    look_at_the_run(run)


def look_at_the_run(run: str) -> None:
    page = httpx2.get(f"http://127.0.0.1:{PORT}/runs/{run}", timeout=60)
    compared = answer(f"/runs/{run}/comparison")["comparisons"]
    row = next(
        row
        for row in compared
        if row["benchmark"] == "local-storage-cache-seq-get" and "16" in row["params"].values()
    )
    if page.status_code != 200 or row["verdict"] != "regression" or not 0.04 < row["change"] < 0.06:
        raise SystemExit(f"the patch costs 4 to 6 %, not {row}")
    say(f"shown: {row['benchmark']} {row['change']:+.2%}")


def attacks() -> None:
    """tests/compose: what a tree's code tries in a builder."""
    done = subprocess.run(
        [BIN / "pytest", "-q", "tests/compose"],
        cwd=ROOT,
        env={**ENVIRONMENT, "COMPOSE_TEST": "1"},
        check=False,
    )
    if done.returncode:
        raise SystemExit("an attack got through")


def down() -> None:
    compose("down")
    up()
    unchanged("after `down` and `up`")


def upgrade() -> None:
    """Upgrades a database with the demonstration of the version before the newest migration."""
    found = version_before()
    if found is None:
        say("nothing to upgrade from: the first migration is the only one")
        return
    before, new = found
    with tempfile.TemporaryDirectory() as folder:
        call(["git", "worktree", "add", "--detach", "--force", folder, before])
        try:
            version = ["--build-arg", f"POSTGRES_VERSION={POSTGRES}"]
            file = f"{folder}/images/service/Dockerfile"
            call(
                [
                    "docker",
                    "build",
                    "--quiet",
                    *version,
                    "--file",
                    file,
                    "--tag",
                    f"{REGISTRY}/service:before",
                    folder,
                ]
            )
        finally:
            call(["git", "worktree", "remove", "--force", folder])
    new_database("before")
    service_command("before", "demo-data", version="before")
    columns = columns_of("before")
    kept = contents("before", columns)
    service_command("before", "migrate")
    if contents("before", columns) != kept:
        raise SystemExit("the new version has other values than the one before")
    rows = sum(int(row.split("|")[0]) for row in kept)
    say(f"from {before[:12]} over {', '.join(new)}: {rows} rows of {len(kept)} tables are what they were")


def version_before() -> tuple[str, list[str]] | None:
    """The newest commit that lacks some of today's migrations, and those it lacks; None if there is only the
    first migration.
    """
    versions = "db/migrations/versions"
    today = set(migrations("HEAD"))
    if len(today) == 1:
        return None
    for commit in call(["git", "rev-list", "--first-parent", "HEAD", "--", versions]).stdout.split():
        if set() < (then := set(migrations(commit))) < today:
            return commit, sorted(today - then)
    raise SystemExit("this clone has no version before the newest migration: clone with all history")


def migrations(commit: str) -> list[str]:
    names = call(["git", "ls-tree", "--name-only", commit, "db/migrations/versions/"]).stdout.split()
    return [name.rpartition("/")[2] for name in names if name.endswith(".py")]


def service_command(database: str, *words: str, version: str = "now") -> str:
    """A command of the service's image on another database of the same server."""
    url = f"postgresql://cliffwatch@postgres/{database}"
    run = (
        "run",
        "--rm",
        "--no-deps",
        "-T",
        "--volume",
        f"{CACHE}:/backups",
        "--env",
        f"DATABASE_URL={url}",
        "migrations",
    )
    return compose(*run, *words, CLIFFWATCH_VERSION=version).stdout


def new_database(name: str) -> None:
    compose("exec", "-T", "postgres", "dropdb", "--if-exists", "-U", "cliffwatch", name)
    compose("exec", "-T", "postgres", "createdb", "-U", "cliffwatch", name)


def query(database: str, text: str) -> list[str]:
    done = compose("exec", "-T", "postgres", "psql", "-U", "cliffwatch", "-d", database, "-Atc", text)
    return done.stdout.splitlines()


def columns_of(database: str) -> list[tuple[str, str]]:
    rows = query(
        database,
        "SELECT table_name, string_agg(quote_ident(column_name), ',' ORDER BY column_name) FROM"
        " information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) WHERE"
        " table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT IN ('alembic_version')"
        " GROUP BY 1",
    )
    return [(table, columns) for table, _, columns in (row.partition("|") for row in rows)]


def contents(database: str, tables: Sequence[tuple[str, str]]) -> list[str]:
    """How many rows each table has, and a digest of them."""
    digest = (
        "SELECT count(*), md5(coalesce(string_agg(row, '' ORDER BY row), '')) FROM (SELECT md5(ROW({})::text)"
        ' AS row FROM "{}") AS rows'
    )
    return [query(database, digest.format(columns, table))[0] for table, columns in tables]


def backup() -> None:
    """A backup of the composed service fills an embedded PostgreSQL, and one of that the composed again."""
    compose(
        "stop", "--timeout", "5", "worker"
    )  # when it was last there is written down with each of its questions
    for name in ("composed.dump", "embedded.dump"):
        (CACHE / name).unlink(missing_ok=True)
    compose("exec", "-T", "service", "cliffwatch", "backup", "/var/lib/cliffwatch/composed.dump")
    compose("cp", "service:/var/lib/cliffwatch/composed.dump", str(CACHE / "composed.dump"))
    compose("exec", "-T", "service", "rm", "/var/lib/cliffwatch/composed.dump")
    with tempfile.TemporaryDirectory() as folder:
        data = ("--data-dir", folder)
        here("restore", CACHE / "composed.dump", *data)
        here("backup", CACHE / "embedded.dump", *data)
    (CACHE / "embedded.dump").chmod(0o644)
    new_database("restored")
    service_command("restored", "restore", "/backups/embedded.dump")
    columns = [
        (table, names) for table, names in columns_of("cliffwatch") if not table.startswith("procrastinate")
    ]
    if contents("restored", columns) != contents("cliffwatch", columns):
        raise SystemExit("what came back over both backups is not what was there")
    say(f"PostgreSQL {POSTGRES} to the embedded one and back: {len(columns)} tables are what they were")


def remove() -> None:
    compose("down", "--volumes")
    STATE.unlink(missing_ok=True)


STEPS = {
    each.__name__: each for each in (images, up, request, result, attacks, down, upgrade, backup, remove)
}


def main() -> int:
    wanted = sys.argv[1:] or list(STEPS)
    for name in wanted:
        say(name)
        STEPS[name]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
