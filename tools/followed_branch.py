"""What building costs on a followed branch: commits to one BPF file, each compared with its parent as a
worker's jobs do it.

    .venv/bin/python tools/followed_branch.py ARCHIVE [--commits 10] [--seed N] [--cache DIR]

Makes a branch on the archive's source in which every commit changes another function of
kernel/bpf/bpf_local_storage.c, and each third one adds a function, so that the kernel's types change and
bench is made anew. Then builds what the jobs of that branch build: base, head, bench. Ends with 1 where a
job from the second on builds for longer than a minute.
"""

import argparse
import random
import re
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/runner")]
from toy import RecordedProgress, request  # noqa: E402

from cliffwatch.failure import Failure  # noqa: E402
from cliffwatch_runner.build.cache.uses import cache_uses  # noqa: E402
from cliffwatch_runner.plan.request import RunRequest  # noqa: E402
from cliffwatch_runner.plan.run_plan import PlannedRun, plan_run  # noqa: E402
from cliffwatch_runner.run.build import build  # noqa: E402
from cliffwatch_runner.run.built_run import BuiltRun, RunTools  # noqa: E402
from cliffwatch_runner.run.prepare import check_tools  # noqa: E402
from cliffwatch_runner.source.git import git  # noqa: E402
from cliffwatch_runner.source.tree import open_tree  # noqa: E402

FILE = "kernel/bpf/bpf_local_storage.c"
LARGEST_SECONDS = 60.0
FUNCTION = re.compile(r"(?m)^(?:static |struct |void |int |bool |long |unsigned )[^;{}]*\)\n\{\n")


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="cliffwatch-followed-") as folder:
        repository = Path(folder) / "linux.git"
        commits = _branch(options, repository)
        worst = 0.0
        print(f"seed {options.seed}\njob  commit        base   head  bench  building")
        for number, (base, head) in enumerate(pairwise(commits), start=1):
            wanted = request(
                repository, Path(folder), base=base, head=head, cache=options.cache, trust="followed", jobs=2
            )
            phases = _built(wanted)
            whole = sum(phases.values())
            row = "".join(f"{phases.get(f'build {name}', 0.0):7.1f}" for name in ("base", "head", "bench"))
            print(f"{number:3}  {head[:12]} {row} {whole:8.1f} s", flush=True)
            worst = max(worst, whole if number > 1 else 0.0)
    print(f"longest from the second job on: {worst:.1f} s of {LARGEST_SECONDS:.0f} s")
    return 0 if worst <= LARGEST_SECONDS else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive")
    parser.add_argument("--commits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/cliffwatch")
    return parser.parse_args()


def _branch(options: argparse.Namespace, repository: Path) -> list[str]:
    """A bare repository with the source as a commit and so many on top of it; the commits, oldest first."""
    tree = open_tree(options.archive, options.cache, "own")
    if isinstance(tree, Failure):
        raise SystemExit(tree.message)
    git(["init", "--quiet", "--bare", str(repository)])
    (repository / "objects/info/alternates").write_text(f"{tree.mirror.resolve()}/objects\n")
    draw = random.Random(options.seed)
    text = git(["cat-file", "blob", f"{tree.location}:{FILE}"], git_dir=repository).output
    commits = [tree.location]
    for number in range(1, options.commits + 1):
        text = _changed(text, number, draw)
        commits.append(_commit(repository, commits[-1], text, number))
    git(["update-ref", "refs/heads/followed", commits[-1]], git_dir=repository)
    return commits


def _changed(text: str, number: int, draw: random.Random) -> str:
    place = draw.choice([match.end() for match in FUNCTION.finditer(text)])
    text = f"{text[:place]}\tbarrier(); /* {number} */\n{text[place:]}"
    if number % 3:
        return text
    return (
        f"{text}\n__used static noinline int cliffwatch_added_{number}(int value)\n{{\n\treturn value +"
        f" {number};\n}}\n"
    )


def _commit(repository: Path, parent: str, text: str, number: int) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(text)
        file.flush()
        blob = git(["hash-object", "-w", "--no-filters", file.name], git_dir=repository).output.strip()
        index = {"GIT_INDEX_FILE": f"{file.name}.index"}
        git(["read-tree", parent], git_dir=repository, env=index)
        git(["update-index", "--cacheinfo", f"100644,{blob},{FILE}"], git_dir=repository, env=index)
        tree = git(["write-tree"], git_dir=repository, env=index).output.strip()
        Path(f"{file.name}.index").unlink()
    made = git(["commit-tree", tree, "-p", parent, "-m", f"bpf: Change {number}"], git_dir=repository)
    assert made.ok, made.output
    return made.output.strip()


class _Phases(RecordedProgress):
    """Seconds by phase."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = {}
        self._began = 0.0
        self._phase = ""

    def begin(self, phase: str, detail: str = "") -> None:
        super().begin(phase, detail)
        self._phase, self._began = phase, time.monotonic()

    def end(self, detail: str) -> None:
        super().end(detail)
        self.seconds[self._phase] = time.monotonic() - self._began


def _built(wanted: RunRequest) -> dict[str, float]:
    phases = _Phases()
    planned = plan_run(wanted)
    assert isinstance(planned, PlannedRun), planned
    with cache_uses() as uses:
        tools = check_tools(planned, phases, threading.Event(), uses, wanted.cache)
        assert isinstance(tools, RunTools), tools
        built = build(planned, tools)
    assert isinstance(built, BuiltRun), built
    return phases.seconds


if __name__ == "__main__":
    raise SystemExit(main())
