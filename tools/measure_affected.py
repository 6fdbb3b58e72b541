"""Measures what `cliffwatch affected` leaves out, and whether it leaves out too much: `make affected-test`
(docs/performance.md).

Twenty seeded patches: to BPF helpers and inline functions, and to what cases execute less of (mm, net and
fs, drivers, headers, comments). Of each the cases that can be touched are listed; with --measure they are
all measured too, and a case that changed beyond its repeatability and was left out is an error. The counts
are of a run that is made first.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from planted_history.edits import Mix, drawn_edits

CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"
SUITES = "local-storage,hashmap,bloom,strncmp,trigger,rename,ringbufs"
CHANGES = ("regression", "improvement", "changed")
INLINE_HEADERS = (
    "include/linux/bpf_local_storage.h",
    "include/linux/bpfptr.h",
    "include/linux/percpu_freelist.h",
    "include/linux/jhash.h",
)
_HELPER = re.compile(r"^BPF_CALL_\d\((\w+),[^{;]*?\)\n\{\n", re.MULTILINE)
_INLINE = re.compile(r"^static (?:__always_)?inline [^;{}#]*\n?\{\n", re.MULTILINE)
_WORK = '\tasm volatile("nop\\n\\tnop\\n\\tnop\\n\\tnop");\n'


Answer = dict[str, list[dict[str, object]]]


@dataclass(frozen=True)
class Patch:
    kind: str
    path: str
    change: Callable[[str], str]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tree", required=True, help="the kernel tree that is built, as for cliffwatch run")
    options.add_argument(
        "--sources",
        type=Path,
        help="a git repository with the same HEAD to draw patches from; default: the tree",
    )
    options.add_argument(
        "--counts",
        type=Path,
        required=True,
        help="result directory of a run of HEAD that counted these suites",
    )
    options.add_argument("--seed", type=int, required=True)
    options.add_argument("--suite", default=SUITES, help="suites, with commas between them")
    options.add_argument("--most", type=int, default=20)
    options.add_argument("--measure", action="store_true")
    options.add_argument(
        "--group", type=int, default=5, help="patches that are measured in one run, with one base"
    )
    chosen = options.parse_args()
    wrong = 0
    print(
        f"{'kind':<9}{'differ':>8}{'cases':>7}{'touched':>9}{'changed':>9}{'wrongly left out':>18}  file",
        flush=True,
    )
    sources = chosen.sources or Path(chosen.tree)
    patches = drawn(sources, random.Random(chosen.seed))[: chosen.most]
    for start in range(0, len(patches), chosen.group):
        with tempfile.TemporaryDirectory() as folder:
            wrong += group(patches[start : start + chosen.group], sources, Path(folder), chosen)
    return 1 if wrong else 0


def drawn(tree: Path, draw: random.Random) -> list[Patch]:
    files = git(tree, "ls-files").splitlines()
    mix = Mix(text=4, drivers=6, comments=4, breaks=0, reverted=0)
    others = [
        Patch(each.kind, each.path, each.change) for each in drawn_edits(mix, files, draw) if each.change
    ]
    helpers = [
        Patch("bpf", f"kernel/bpf/{name}.c", worked(_HELPER, draw.random()))
        for name in ("helpers", "hashtab", "ringbuf", "bpf_task_storage")
    ]
    inline = [
        Patch("inline", path, worked(_INLINE, draw.random())) for path in INLINE_HEADERS if path in files
    ][:2]
    patches = [*helpers, *inline, *others]
    draw.shuffle(patches)
    return patches


def worked(form: re.Pattern[str], where: float) -> Callable[[str], str]:
    """Four instructions more in one of the functions of a form."""

    def change(text: str) -> str:
        found = list(form.finditer(text))
        if not found:
            return text
        at = found[int(where * len(found))].end()
        return text[:at] + _WORK + text[at:]

    return change


def diff_of(tree: Path, patch: Patch) -> str:
    old = git(tree, "show", f"HEAD:{patch.path}")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a", old), ("b", patch.change(old))):
            path = Path(folder) / name / patch.path
            path.parent.mkdir(parents=True)
            path.write_text(text)
        argv = ["git", "diff", "--no-index", "--no-prefix", "--", f"a/{patch.path}", f"b/{patch.path}"]
        return subprocess.run(argv, check=False, cwd=folder, capture_output=True, text=True).stdout


def group(patches: list[Patch], sources: Path, folder: Path, chosen: argparse.Namespace) -> int:
    answers: dict[str, Answer] = {}
    for number, patch in enumerate(patches):
        file = folder / f"p{number}.patch"
        file.write_text(diff_of(sources, patch))
        head = ["--base", "HEAD", "--head", "HEAD", "--patch", str(file), "--counts", str(chosen.counts)]
        answered = asked(["affected", *common(chosen), *head, "--format", "json"])
        if answered is None:
            print(f"{patch.kind:<9}{'does not build, or has no text':<51}  {patch.path}", flush=True)
        else:
            answers[f"p{number}"] = json.loads(answered)
    changed = changed_cases(list(answers), folder, chosen) if chosen.measure and answers else {}
    return sum(row(patches[int(name[1:])], answer, changed.get(name)) for name, answer in answers.items())


def changed_cases(names: list[str], folder: Path, chosen: argparse.Namespace) -> dict[str, set[str]]:
    arms = [f"--arm={name}=HEAD patch={folder / name}.patch" for name in names]
    argv = ["run", *common(chosen), "--arm=base=HEAD", *arms, "--mode", "icount", "--boots", "1"]
    report = asked([*argv, "--out", str(folder / "run"), "--format", "json"])
    if report is None:
        raise SystemExit(f"the kernels of {', '.join(names)} could not be measured: {' '.join(argv)}")
    rows = [each for each in json.loads(report)["comparisons"] if each["primary"]]
    measured = {
        name: sum(1 for each in rows if each["arm"] == name and each["head"] is not None) for name in names
    }
    if missing := [name for name, cases in measured.items() if cases == 0]:
        raise SystemExit(f"no case of {', '.join(missing)} was measured: {json.loads(report)['failures']}")
    return {
        name: {name_of(each) for each in rows if each["arm"] == name and each["verdict"] in CHANGES}
        for name in names
    }


def row(patch: Patch, answer: Answer, changed: set[str] | None) -> int:
    cases = len(answer["affected"]) + len(answer["unaffected"])
    missed = sorted((changed or set()) & {name_of(case) for case in answer["unaffected"]})
    start = f" (at start: {', '.join(map(str, answer['at_start'][:3]))})" if answer["at_start"] else ""
    measured = f"{'':>9}{'not measured':>18}" if changed is None else f"{len(changed):>9}{len(missed):>18}"
    print(
        f"{patch.kind:<9}{len(answer['changed']):>8}{cases:>7}{len(answer['affected']):>9}{measured} "
        f" {patch.path}{start}",
        flush=True,
    )
    for name in missed:
        print(f"{'':<9}left out, but changed: {name}", flush=True)
    return len(missed)


def common(chosen: argparse.Namespace) -> list[str]:
    return ["--tree", chosen.tree, "--suite", chosen.suite]


def name_of(case: dict[str, object]) -> str:
    return f"{case['suite']}/{case['benchmark']}/{case['params']}"


def asked(arguments: list[str]) -> str | None:
    ended = subprocess.run([str(CLIFFWATCH), *arguments], check=False, capture_output=True, text=True)
    return ended.stdout if ended.returncode == 0 else None


def git(tree: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(tree), *arguments], check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
