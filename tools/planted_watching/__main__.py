"""Makes a history in which some commits change speed, pushes it step by step to a branch that a real service
follows and a real worker measures, and checks which commits the service's reports name.

    python tools/planted_watching TREE --seed N --out FOLDER [--patches FOLDER] [--policy commit|affected] [--cache DIR]

TREE is a linux repository, folder or archive. The seed draws the history (tools/planted_history): the order
of the patches, quiet commits among them, a merge with one patch inside; and how many commits each push
brings. The next push is made when the queue is empty. FOLDER keeps all: linux.git, truth.json, which is read
at the end alone, the service's database, the results. The same command goes on where it was stopped. At the
end, one table: recall (planted commits that are named), precision (what is named and was planted), minutes
from the push to the report. Improvements make no report; their confirmed change counts as one. Ends with 1
unless all and only the planted commits are named. With --judge the table alone, of what there is.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools")]

from load.served import COMMAND, Served, environment, served  # noqa: E402
from planted_history.edits import Mix  # noqa: E402
from planted_history.history import digest_of, make_history, write_truth  # noqa: E402
from simulated_day.services import free_port, git_daemon  # noqa: E402

from cliffwatch.counting import count_noun  # noqa: E402
from cliffwatch.failure import Failure  # noqa: E402
from cliffwatch_runner.command.options.cache import default_cache  # noqa: E402
from cliffwatch_runner.source.git import git  # noqa: E402
from cliffwatch_runner.source.tree import open_tree  # noqa: E402
from planted_watching.judging import Planted, judge, table  # noqa: E402
from planted_watching.pushing import BRANCH, Pushes, drawn_tips, parents_of  # noqa: E402
from planted_watching.reading import all_items, largest_change, read_named  # noqa: E402

PATCHES = ROOT / "tests/data/planted-watching"
SUITES = "hashmap,local-storage,ringbufs,strncmp,loops,veristat"
PLATFORM = "emulated-x86-64"
QUIET = Mix(text=3, drivers=3, comments=2, breaks=0, reverted=0)
POLL_SECONDS = "10"
LEASE_SECONDS = "900"
"""Service and worker share a machine that may be busy with other things."""

SETTLED = 3
"""The end has come when so many looks, a minute apart, find nothing to do."""


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped; the same command goes on"))
    options.out.mkdir(parents=True, exist_ok=True)
    truth = options.out / "truth.json"
    if not truth.exists():
        _make(options, truth)
    port = options.out / "port"
    if not port.exists():
        port.write_text(str(free_port()))
    served_tree = options.out / "served" / "linux.git"
    pushes = Pushes(options.out / "linux.git", served_tree, options.out / "pushes.json")
    document = json.loads(truth.read_text())
    pushes.begin(document["base"])
    with git_daemon(served_tree.parent, int(port.read_text())) as url, _service(options.out, url) as service:
        if not options.judge:
            with _worker(options, service) as worker:
                _follow(options, service, f"{url}/linux.git")
                _push_all(options, service, worker, pushes, document)
        return _judge(options, service, pushes, document)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--patches", type=Path, default=PATCHES)
    parser.add_argument("--suites", default=SUITES)
    parser.add_argument("--profile", default="smoke")
    parser.add_argument("--policy", choices=("commit", "affected"), default="affected")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--judge", action="store_true")
    return parser.parse_args()


def _make(options: argparse.Namespace, truth: Path) -> None:
    patches = sorted(options.patches.glob("*.patch"))
    if not patches:
        raise SystemExit(f"there is no patch (*.patch) in {options.patches}")
    tree = open_tree(options.tree, options.cache, "own")
    base = tree if isinstance(tree, Failure) else tree.resolve("HEAD")
    if isinstance(tree, Failure) or isinstance(base, Failure):
        raise SystemExit(str(base))
    repository = options.out / "linux.git"
    git(["init", "--quiet", "--bare", str(repository)])
    (repository / "objects/info/alternates").write_text(f"{tree.mirror.resolve()}/objects\n")
    history = make_history(repository, base.commit, patches, options.seed, QUIET)
    write_truth(history, truth)
    print(f"seed {options.seed}: {len(history.made)} commits, {digest_of(history)}", flush=True)


@contextmanager
def _service(out: Path, git_url: str) -> Iterator[Served]:
    folder = out / "service"
    folder.mkdir(exist_ok=True)
    given = {
        "CLIFFWATCH_TREES": f"{git_url}/",
        "CLIFFWATCH_POLL_SECONDS": POLL_SECONDS,
        "CLIFFWATCH_LEASE_SECONDS": LEASE_SECONDS,
    }
    with served(folder, **given) as service:
        yield service


def _follow(options: argparse.Namespace, service: Served, url: str) -> None:
    argv = [COMMAND, "follow", "add", url, "--branch", BRANCH, "--policy", options.policy]
    argv += ["--profile", options.profile]
    argv += [word for suite in options.suites.split(",") for word in ("--suite", suite)]
    subprocess.run(argv, env=environment(service.data_dir), check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _worker(options: argparse.Namespace, service: Served) -> "Iterator[subprocess.Popen[bytes]]":
    token = options.out / "worker.token"
    if not token.exists():
        argv = [COMMAND, "token", "make", "planted", "--scope", "work", "--host", "planted"]
        made = subprocess.run(
            argv, env=environment(service.data_dir), check=True, capture_output=True, text=True
        )
        token.touch(0o600)
        token.write_text(made.stdout)
    argv = [COMMAND, "worker", "--url", service.url, "--platform", PLATFORM, "--mode", "icount"]
    argv += ["--name", "planted", "--token-file", str(token)]
    argv += ["--cache", str(options.cache), "--spool", str(options.out / "spool")]
    with (options.out / "worker.log").open("a") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log, env={**os.environ, "NO_PROXY": "127.0.0.1"})
    try:
        yield process
    finally:
        for _ in range(2):  # the second one interrupts the job, which is resumed later
            process.terminate()
            time.sleep(1)
        process.wait(300)


def _push_all(
    options: argparse.Namespace,
    service: Served,
    worker: "subprocess.Popen[bytes]",
    pushes: Pushes,
    truth: dict[str, Any],
) -> None:
    _wait(service, worker, pushes.made[-1].tip if pushes.made else truth["base"])
    tips = drawn_tips(options.out / "linux.git", truth["base"], truth["tip"], truth["seed"])
    for number, tip in enumerate(tips[len(pushes.made) :], start=len(pushes.made) + 1):
        push = pushes.push(tip)
        _say(f"push {number} of {len(tips)}: {count_noun(len(push.commits), 'commit')}")
        _wait(service, worker, tip)
    for _ in range(SETTLED):
        _wait(service, worker, truth["tip"], soonest=60)


def _wait(service: Served, worker: "subprocess.Popen[bytes]", tip: str, soonest: float = 0) -> None:
    """Waits until the service asked for the jobs of a commit and has none to do."""
    time.sleep(soonest)
    with service.http() as http:
        while True:
            (follow,) = http.get("/api/v1/follows").raise_for_status().json()["items"]
            asked = follow["head_commit"] == tip and follow["requested_commit"] in (tip, None)
            if asked and not http.get("/api/v1/queue").raise_for_status().json()["items"]:
                return
            if worker.poll() is not None:
                raise SystemExit("the worker ended: see worker.log")
            time.sleep(5)


def _judge(options: argparse.Namespace, service: Served, pushes: Pushes, truth: dict[str, Any]) -> int:
    at = {commit: pushes.time_of(commit) for commit in truth["planted"].values()}
    parents = parents_of(options.out / "linux.git", list(at))
    planted = [
        Planted(patch=each["patch"], commit=each["commit"], parent=parents[each["commit"]], pushed=pushed)
        for each in truth["commits"]
        if each["kind"] == "planted" and (pushed := at[each["commit"]]) is not None
    ]
    with service.http() as http:
        named, measured = read_named(http), {each.commit: largest_change(http, each) for each in planted}
        jobs = all_items(http, "/api/v1/jobs")
    judgement = judge(planted, named)
    print(
        f"seed {truth['seed']}: {len(pushes.made)} pushes of {len(truth['commits'])} commits, policy {options.policy}, {options.suites}\n"
    )
    print(table(judgement, measured))
    for job in (each for each in jobs if each["state"] in ("failed", "parked", "cancelled")):
        print(f"job {job['state']}: {job['base'][:12]}..{job['head'][:12]} {job['reason']}")
    right = judgement.recall[0] == judgement.recall[1] and not judgement.wrong and not judgement.faults
    return 0 if right else 1


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
