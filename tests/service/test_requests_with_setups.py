"""Requests that bring arms, shapes, suites and files: asked from the command line, done by a worker, stored
and shown.
"""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
import toy
from asking import asked, offer
from click.testing import CliRunner, Result
from made_documents import made_work
from service_running import Running
from worker_jobs import do_one

from cliffwatch.command.main import main
from cliffwatch.failure import Failure
from cliffwatch.formats.setup import Setup, SetupFile
from cliffwatch_runner.upload.client import Answered
from cliffwatch_runner.upload.setup_files import LocalSetup, collect_setup
from cliffwatch_runner.worker.asked import run_arguments, take_files
from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_service.store import run_arms

SLOW = "--- a/behaviour\n+++ b/behaviour\n@@ -1 +1 @@\n-good\n+slow\n"
COUNTER = toy.TESTS / "data" / "suites" / "counter"
SUITE = ("--suite", "local-storage")
"""No suite executes what is changed here: one is named."""

ON = ("--on", "emulated-x86-64:icount", "--profile", "smoke", "--boots", "1")


@pytest.fixture
def token(running: Running, tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(running.tokens["upload"])
    file.chmod(0o600)
    return file


def submit(running: Running, token: Path, tree: str, *words: str | Path) -> Result:
    options = ["--url", running.url, "--token-file", str(token), "--tree", tree, *ON, *map(str, words)]
    return CliRunner().invoke(main, ["submit", *options])


def done(
    running: Running, host: WorkerHost, tmp_path: Path, token: Path, tree: str, *words: str | Path
) -> Result:
    """What submit prints of a request that a worker does meanwhile."""
    ended, failed = threading.Event(), threading.Event()

    def work() -> None:
        while not running.rows("SELECT id FROM job"):
            if ended.wait(0.05):
                return
        do_one(running, host, tmp_path / "spool", stop=failed)
        running.do_tasks()

    def watch() -> None:
        """Ends a worker whose job went back to the queue: no other host would take it."""
        while not ended.wait(0.05):
            if running.rows("SELECT id FROM job WHERE failed_hosts <> '{}'"):
                running.rows("UPDATE job SET state = 'parked' WHERE state = 'queued' RETURNING id")
                failed.set()

    offer(
        running, host.name, host.platform, modes=["icount"], setups=True, build_images=list(host.build_images)
    )
    worker = threading.Thread(target=work)
    worker.start()
    threading.Thread(target=watch, daemon=True).start()
    result = submit(running, token, tree, *words)
    ended.set()
    worker.join()
    return result


def shown(running: Running, path: str) -> str:
    with running.http(None) as http:
        return str(http.get(path).raise_for_status().text)


@pytest.mark.namespaces
def test_arms_of_a_request_are_measured_in_one_run_and_shown_as_a_matrix(
    running: Running, served_tree: Any, host: WorkerHost, token: Path, tmp_path: Path
) -> None:
    (tmp_path / "v1.patch").write_text(SLOW)
    url, _ = served_tree
    arms = [
        "--arm",
        "plain=v6.12",
        "--arm",
        f"v1=v6.12 patch={tmp_path}/v1.patch",
        "--arm",
        "quiet=v6.12 boot=quiet",
    ]
    ended = done(running, host, tmp_path, token, url, *arms, *SUITE)

    assert ended.exit_code == 0, ended.output
    assert "3 arms, each against plain" in ended.stdout
    (job,) = running.get("/jobs")["items"]
    assert (job["state"], [arm["name"] for arm in job["setup"]["arms"]]) == ("done", ["plain", "v1", "quiet"])
    # The service of this test logs to the same output.
    said = [line for line in ended.stdout.splitlines() if not line.startswith(("[info", "[warning"))]
    assert said[-1].endswith(f"/compare/{job['run']}")
    document = running.get(f"/runs/{job['run']}/comparison")
    verdicts = {(row["arm"], row["verdict"]) for row in document["comparisons"] if row["primary"]}
    assert {("v1", "regression"), ("quiet", "unchanged")} <= verdicts
    assert ("quiet", "regression") not in verdicts

    page = shown(running, f"/compare/{job['run']}")
    assert "3 arms, each against plain" in page
    assert '<td class="number worse" data-label="v1">▲ +25.00 %' in page
    assert shown(running, f"/compare/{job['run']}.md").startswith("### 3 arms, each against `plain`")
    assert "v1.patch" in shown(running, f"/requests/{job['request']}")
    assert "boot quiet" in shown(running, f"/jobs/{job['job']}")
    (lease,) = running.rows("SELECT trust FROM lease")
    assert lease["trust"] == "outside"


@pytest.mark.namespaces
def test_an_arm_with_settings_of_its_own_does_not_answer_for_its_revision(
    running: Running, served_tree: Any, host: WorkerHost, token: Path, tmp_path: Path
) -> None:
    url, repository = served_tree
    done(
        running, host, tmp_path, token, url, "--arm", "plain=v6.12", "--arm", "quiet=v6.12 boot=quiet", *SUITE
    )
    commit = toy.git(repository, "rev-parse", "v6.12")

    (revision,) = running.rows(f"SELECT id FROM revision WHERE commit = '{commit}'")
    (plain,) = running.rows("SELECT id FROM arm WHERE name = 'plain'")
    with psycopg.connect(running.database) as connection:
        answering = run_arms.latest_arm(connection, revision["id"], host.platform, "icount")
    assert answering is not None
    assert answering.id == plain["id"]


@pytest.mark.namespaces
def test_a_suite_of_the_users_own_with_its_data_is_measured_in_two_shapes_and_compared(
    running: Running, served_tree: Any, host: WorkerHost, token: Path, tmp_path: Path
) -> None:
    url, repository = served_tree
    head = toy.change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    (tmp_path / "keys").write_text("one\ntwo\n")
    ended = done(
        running,
        host,
        tmp_path,
        token,
        url,
        *("--base", "v6.12", "--head", head, "--suite", COUNTER, "--data", tmp_path / "keys"),
        *("--shape", "cpus=1", "--shape", "cpus=2"),
    )

    assert ended.exit_code == 0, ended.output
    (job,) = running.get("/jobs")["items"]
    assert job["state"] == "done", job["reason"]
    record = running.get(f"/runs/{job['run']}")["record"]
    assert record["data"]["sha256"] == hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert {case["params"]["guest-cpus"] for case in record["plan"]["cases"]} == {"1", "2"}
    rows = running.get(f"/comparisons/{record['arms'][0]['facts']['commit']}...{job['head']}")["comparisons"]
    assert {row["suite"] for row in rows} == {"counter"}
    assert {row["unit"] for row in rows} >= {"insns", "states"}
    page = shown(running, f"/compare/{job['run']}")
    assert "guest-cpus=1" in page
    assert "guest-cpus=2" in page
    assert "own suites" in shown(running, f"/requests/{job['request']}")


@pytest.mark.namespaces
def test_a_patch_of_base_and_head_is_still_base_and_head(
    running: Running, served_tree: Any, host: WorkerHost, token: Path, tmp_path: Path
) -> None:
    (tmp_path / "slow.patch").write_text(SLOW)
    url, _ = served_tree
    words = ["--base", "v6.12", "--head", "v6.12", "--patch", tmp_path / "slow.patch", *SUITE]
    ended = done(running, host, tmp_path, token, url, *words)

    assert ended.exit_code == 0, ended.output
    assert "+25.00%  regression" in ended.stdout


@pytest.mark.namespaces
def test_a_patch_that_no_suite_executes_is_theirs_who_asked(
    running: Running, served_tree: Any, host: WorkerHost, token: Path, tmp_path: Path
) -> None:
    (tmp_path / "slow.patch").write_text(SLOW)
    url, _ = served_tree
    words = ["--base", "v6.12", "--head", "v6.12", "--patch", tmp_path / "slow.patch"]
    ended = done(running, host, tmp_path, token, url, *words)

    assert ended.exit_code == 2, ended.output
    assert "no suite executes what head changes: behaviour" in ended.output
    (job,) = running.get("/jobs")["items"]
    assert (job["state"], job["whose"]) == ("failed", "usage")
    assert running.rows("SELECT outcome FROM lease") == [{"outcome": "not-possible"}]
    page = shown(running, f"/jobs/{job['job']}")
    assert "not possible as it was asked for" in page
    assert "no suite executes what head changes: behaviour" in page


def listed(name: str) -> dict[str, Any]:
    return {"name": name, "bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}


def body(*, content: bytes = b"patch", said: bytes | None = None, **setup: Any) -> dict[str, Any]:
    """A request with one file, `p`, that is listed as it is unless something else is said."""
    said = content if said is None else said
    file = {"name": "p", "bytes": len(said), "sha256": hashlib.sha256(said).hexdigest()}
    plain = asked(setup={"files": [file], **setup})
    return {**plain, "contents": [{"name": "p", "content": base64.b64encode(content).decode()}]}


def arm(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "rev": "1" * 40, **more}


def without_ends(of: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in of.items() if name not in ("base", "head")}


TWO = [arm("a"), arm("b")]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (body(arms=TWO), "base: a request names base and head, or arms in its setup, and not both"),
        (without_ends(asked()), "base: a request names base and head, or arms"),
        (without_ends(body(arms=[arm("a")])), "at least two arms"),
        (without_ends(body(arms=[arm("a"), arm("a")])), "two arms are called 'a'"),
        (without_ends(body(arms=[arm("a"), arm("control")])), "'control' is the name of"),
        (
            without_ends(body(arms=[arm("a"), arm("b", patch=["q"])])),
            "the file 'q' is named but was not sent",
        ),
        (without_ends(body(arms=[arm("a"), arm("b", patch=["../q"])])), "setup.arms.1.patch.0"),
        (without_ends(body(arms=[arm("a"), arm("b", cc="/bin/evil")])), "setup.arms.1.cc"),
        (without_ends(body(arms=[arm("a"), arm("b", colour="red")])), "colour"),
        (
            without_ends(body(arms=[arm("a"), arm("b", module={"example.org/x": "../y"})])),
            "setup.arms.1.module",
        ),
        (body(folders=["mine"]), "the file 'mine/suite.toml' is named"),
        (body(shapes=[{}]), "a shape is empty"),
        (body(said=b"another"), "p is not as the setup lists it"),
        ({**body(), "contents": []}, "p is not as the setup lists it"),
        (asked(setup={"files": [listed("a"), listed("a/b")]}), "'a' is both a file and a folder"),
        (body(content=b"x" * (4 << 20) + b"x"), "more than 4.0 MiB in all"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_is_wrong(
    running: Running, wrong: Any, says: str
) -> None:
    offer(running, setups=True)
    with running.http("upload") as http:
        refused = http.post("/api/v1/requests", json=wrong, headers={"Idempotency-Key": "wrong"})

    assert refused.status_code == 422, refused.text
    assert says in refused.json()["detail"]
    assert running.rows("SELECT id FROM request") + running.rows("SELECT name FROM request_file") == []


def post(running: Running, wanted: dict[str, Any]) -> Any:
    with running.http("upload") as http:
        return http.post(
            "/api/v1/requests",
            json=wanted,
            headers={"Idempotency-Key": hashlib.sha256(json.dumps(wanted).encode()).hexdigest()},
        )


@pytest.mark.parametrize(
    ("offered", "setup", "says"),
    [
        ({}, {"shapes": [{"cpus": 1}]}, "its `cliffwatch worker` is too old"),
        (
            {"setups": True},
            {"build_image": "toolchain:2"},
            "builds in toolchain:2 (there: none): `cliffwatch worker --build-image toolchain:2`",
        ),
        (
            {"setups": True, "cpus": 8},
            {"shapes": [{"cpus": 16}]},
            "has 16 CPUs for the largest guest (there: 8)",
        ),
    ],
)
def test_what_no_host_can_do_is_refused_at_once(
    running: Running, offered: dict[str, Any], setup: dict[str, Any], says: str
) -> None:
    offer(running, modes=["walltime"], **offered)
    refused = post(running, asked(setup=setup))

    assert refused.status_code == 422
    assert says in refused.json()["detail"]


def test_a_host_takes_only_what_it_can_do(running: Running) -> None:
    able: dict[str, Any] = {"setups": True, "build_images": ["toolchain:2"], "cpus": 8}
    offer(running, "able", **able)
    post(running, asked(setup={"build_image": "toolchain:2", "shapes": [{"cpus": 8}]})).raise_for_status()

    assert offer(running, "old") is None
    assert offer(running, "small", setups=True, build_images=["toolchain:2"], cpus=4) is None
    assert offer(running, "other", setups=True, build_images=["toolchain:1"], cpus=8) is None
    assert offer(running, "able", **able)["setup"] == {"build_image": "toolchain:2", "shapes": [{"cpus": 8}]}


def test_only_the_host_of_a_lease_gets_the_files_of_its_job_there(running: Running) -> None:
    offer(running, "rome-1", setups=True)
    made = post(running, body()).raise_for_status().json()
    work = offer(running, "rome-1", setups=True)
    path = f"/api/v1/leases/{work['lease']}/files"
    with running.http("work") as http:
        files = http.get(path).raise_for_status().json()["files"]
    assert files == [{"name": "p", "content": base64.b64encode(b"patch").decode()}]
    assert running.get(f"/requests/{made['request']}/files")["files"] == files
    with running.http("read") as http:
        assert http.get(path).status_code == 403
    other = running.token("other", "work")
    assert running.client("work").get(path.removeprefix("/api/v1"))
    with running.http(None) as http:
        assert http.get(path, headers={"Authorization": f"Bearer {other}"}).status_code == 403


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--base", "v6.12"], "a request needs --base and --head, or arms"),
        (["--base", "v6.12", "--head", "v6.12", "--kernel", "FILE"], "--kernel names a local file"),
        (["--arm", "a=v6.12", "--arm", "b=kernel=FILE"], "arm b is a prebuilt kernel, which is too large"),
        (["--base", "v6.12", "--head", "v6.12", "--suite", "./nowhere"], "--suite nowhere is not a folder"),
        (
            ["--base", "v6.12", "--head", "v6.12", "--data", "LARGE"],
            "larger than 4.0 MiB, the limit of a request",
        ),
        (["--base", "v6.12", "--head", "v6.12", "--data", "EMPTY"], "is an empty folder"),
        (["--arm", "a=v6.12"], "at least two arms"),
        (["--arm", "a=v6.12", "--arm", "b=v6.12 module=example.org/x=./x"], "arm b names a module's folder"),
    ],
)
def test_what_cannot_be_sent_is_said_before_anything_is_asked(
    running: Running, served_tree: Any, token: Path, tmp_path: Path, words: Sequence[str], says: str
) -> None:
    (tmp_path / "file").write_text("kernel")
    with (tmp_path / "large").open("wb") as file:
        file.truncate((4 << 20) + 1)
    (tmp_path / "empty").mkdir()
    given = [
        re.sub("FILE|LARGE|EMPTY", lambda place: f"{tmp_path}/{place[0].lower()}", word) for word in words
    ]
    refused = submit(running, token, served_tree[0], *given)

    assert refused.exit_code == 2, refused.output
    assert says in refused.output
    assert running.rows("SELECT id FROM request") == []


def test_a_host_builds_in_no_image_that_its_operator_did_not_name(tmp_path: Path) -> None:
    """A service of another version could give it such a job."""
    refused = run_arguments(made_work(setup=Setup(build_image="toolchain:2")), tmp_path, ("toolchain:1",))

    assert isinstance(refused, Failure)
    assert (refused.whose, refused.message) == ("host", "this host does not build in toolchain:2")


@pytest.mark.parametrize("setup", [Setup(), Setup(build_image="toolchain:2")])
def test_a_host_builds_in_the_image_that_is_named_else_in_its_first(tmp_path: Path, setup: Setup) -> None:
    words = run_arguments(made_work(setup=setup), tmp_path, ("toolchain:1", "toolchain:2"))

    assert isinstance(words, list)
    assert words[words.index("--build-image") + 1] == (setup.build_image or "toolchain:1")


class Giving:
    """A service that gives files."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def get(self, path: str) -> Answered:
        content = base64.b64encode(self.content).decode()
        return Answered(status=200, body={"files": [{"name": "sub/p", "content": content}]})


def test_a_content_that_is_not_the_one_that_was_listed_is_not_measured(tmp_path: Path) -> None:
    file = SetupFile(name="sub/p", bytes=5, sha256=hashlib.sha256(b"patch").hexdigest(), executable=True)
    work = made_work(setup=Setup(files=(file,)))
    refused = take_files(Giving(b"other"), work, tmp_path / "asked")  # type: ignore[arg-type]

    assert isinstance(refused, Failure)
    assert "sent sub/p with content other than" in refused.message
    assert not (tmp_path / "asked/sub/p").exists()
    assert take_files(Giving(b"patch"), work, tmp_path / "asked") is None  # type: ignore[arg-type]
    assert (tmp_path / "asked/sub/p").read_bytes() == b"patch"
    assert (tmp_path / "asked/sub/p").stat().st_mode & 0o777 == 0o755


def test_a_folder_of_data_arrives_whole(tmp_path: Path) -> None:
    objects = tmp_path / "objects"
    (objects / "inputs").mkdir(parents=True)
    (objects / "xdp.bpf.o").write_bytes(b"object")
    (objects / "inputs/packet.data").write_bytes(b"packet")
    collected = collect_setup(LocalSetup(data=objects), str)
    assert not isinstance(collected, Failure), collected
    setup, contents = collected

    assert {each.name: each.content for each in contents} == {
        "data/objects/xdp.bpf.o": b"object",
        "data/objects/inputs/packet.data": b"packet",
    }
    arguments = run_arguments(made_work(setup=setup), tmp_path, ())
    assert not isinstance(arguments, Failure), arguments
    assert arguments[arguments.index("--data") + 1] == str(tmp_path / "data/objects")
