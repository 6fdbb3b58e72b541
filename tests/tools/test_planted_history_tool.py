"""tools/planted_history makes the same history from the same seed, and a bisection that does not know the
truth names what it planted.
"""

import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from isolation_here import ISOLATION, leave_out_root

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/runner")]
from planted_history import history  # noqa: E402
from planted_history.edits import Edit, Mix, comment_on_top, drawn_edits  # noqa: E402
from planted_history.history import History, make_history, make_two_sides, write_truth  # noqa: E402
from toy import FAKEVNG, git, toy_repository  # noqa: E402

from cliffwatch.command.main import main  # noqa: E402
from cliffwatch_runner.run import build, measure  # noqa: E402

FILES = [
    f"{folder}/{name}" for folder in ("drivers/net", "fs/proc", "kernel/bpf", "mm") for name in "abcdefghij"
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy tree with more files, as a bare repository. Its commits have the same names in each test, for
    the draws depend upon them.
    """
    for date in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(date, "2025-12-31T00:00:00Z")
    repository = toy_repository(tmp_path)
    for number, path in enumerate(
        [*(f"{file}.c" for file in FILES), *(f"include/media/{n}.h" for n in range(20))]
    ):
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(f"// SPDX-License-Identifier: GPL-2.0\nint file_{number};\n")
    for number in (1, 2):
        (repository / f"tools/{number}").write_text("a\n")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "Linux 6.12 with more files")
    git(repository, "clone", "--quiet", "--bare", str(repository), str(tmp_path / "linux.git"))
    return tmp_path / "linux.git"


def patches(folder: Path, count: int) -> list[Path]:
    """Patches that apply in any order; the first makes the toy kernel slower, the others change files of
    their own.
    """
    made = []
    for number in range(count):
        path, before, after = (
            ("behaviour", "good", "latency 206.000") if number == 0 else (f"tools/{number}", "a", "b")
        )
        change = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{before}\n+{after}\n"
        file = folder / f"{number}.patch"
        file.write_text(f"Subject: [PATCH] Plant {number}\n\n{change}")
        made.append(file)
    return made


def made(tree: Path, folder: Path, seed: int, count: int = 3, mix: Mix | None = None) -> History:
    return make_history(tree, git(tree, "rev-parse", "master"), patches(folder, count), seed, mix or Mix())


def test_a_merge_of_two_sides_has_a_patch_on_each(tree: Path, tmp_path: Path) -> None:
    files = []
    for number, (path, before, after) in enumerate((("1", "a", "b"), ("2", "a", "b"), ("1", "b", "a"))):
        file = tmp_path / f"{number}.patch"
        file.write_text(
            f"Subject: [PATCH] P{number}\n\n--- a/tools/{path}\n+++ b/tools/{path}\n@@ -1 +1"
            f" @@\n-{before}\n+{after}\n"
        )
        files.append(file)
    head = git(tree, "rev-parse", "master")
    one = make_two_sides(tree, head, files, 7)

    assert make_two_sides(tree, head, files, 7) == one
    assert set(one.planted) == {"1.patch", "2.patch"}
    assert git(tree, "rev-parse", "planted^1~3") == git(tree, "rev-parse", "planted^2~3") == one.base != head
    first, second = (git(tree, "rev-list", f"{one.base}..planted^{side}").split() for side in (1, 2))
    assert (one.planted["1.patch"] in first, one.planted["2.patch"] in second) == (True, True)
    assert git(tree, "show", "base:tools/1", "planted:tools/1", "planted:tools/2").split() == ["b", "a", "b"]


FILES_OF_TREE = [
    "kernel/bpf/core.c",
    *(f"{file}.c" for file in FILES),
    *(f"include/media/{n}.h" for n in range(20)),
]
SMALL = Mix(text=8, drivers=8, comments=4)


def test_forty_commits_of_the_kinds_that_are_asked_for(tree: Path, tmp_path: Path) -> None:
    of_seed = made(tree, tmp_path, 5, mix=Mix())
    kinds = Counter(each.kind for each in of_seed.made)

    assert kinds["planted"] + kinds["text"] + kinds["driver"] + kinds["header"] + kinds["comment"] == 38
    assert (kinds["planted"], kinds["text"], kinds["driver"] + kinds["header"], kinds["comment"]) == (
        3,
        10,
        20,
        5,
    )
    assert (kinds["breaks"], kinds["fix"], kinds["reverted"], kinds["revert"], kinds["merge"]) == (
        1,
        1,
        1,
        1,
        1,
    )
    assert [each.kind for each in of_seed.made if each.inside_merge].count("planted") == 1
    assert git(tree, "rev-list", "--count", f"{of_seed.base}..planted") == "43"
    assert git(tree, "log", "--merges", "--oneline", f"{of_seed.base}..planted").count("\n") == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_the_seed_decides_all(tree: Path, tmp_path: Path, seed: int) -> None:
    first, again, other = (
        made(tree, tmp_path, seed),
        made(tree, tmp_path, seed),
        made(tree, tmp_path, seed + 100),
    )

    assert first == again
    assert [each.kind for each in first.made] != [each.kind for each in other.made]
    assert set(first.planted) == {"0.patch", "1.patch", "2.patch"}


def test_what_breaks_is_fixed_and_what_is_reverted_is_gone_at_the_end(tree: Path, tmp_path: Path) -> None:
    of_seed = made(tree, tmp_path, 3)
    of = {each.kind: each for each in of_seed.made if each.kind in ("breaks", "fix", "reverted", "revert")}

    for first, second in (("breaks", "fix"), ("reverted", "revert")):
        path = git(tree, "show", "--format=", "--name-only", of[first].commit)
        assert git(tree, "show", "--format=", "--name-only", of[second].commit) == path
        assert git(tree, "diff", f"{of[first].commit}~", "planted", "--", path) == ""


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("// SPDX\nint a;\n", "// SPDX\n/* Note 1. */\nint a;\n"),
        ("/* SPDX */\nint a;\n", "/* SPDX */\n/* Note 1. */\nint a;\n"),
        ("/*\n * kmod\n */\nint a;\n", "/* Note 1. */\n/*\n * kmod\n */\nint a;\n"),
    ],
)
def test_a_comment_does_not_end_another_one(text: str, changed: str) -> None:
    assert comment_on_top(1)(text) == changed


def test_nothing_is_planted_where_nothing_builds() -> None:
    edits = drawn_edits(SMALL, FILES_OF_TREE, random.Random(1))
    planted = [Edit(kind="planted", subject=str(number)) for number in range(12)]

    for seed in range(300):
        kinds = [edit.kind for edit in history._ordered(edits, planted, random.Random(seed))]
        broken = kinds[kinds.index("breaks") : kinds.index("fix")]
        assert not {"planted", "reverted", "revert"} & set(broken)
        assert len(broken) <= 2


@pytest.mark.parametrize("seed", range(12))
def test_a_side_branch_begins_where_the_kernel_builds(tree: Path, tmp_path: Path, seed: int) -> None:
    dense = Mix(text=2, drivers=0, comments=1, breaks=1, reverted=0)
    inside = next(each for each in made(tree, tmp_path, seed, 3, dense).made if each.inside_merge)

    assert "not_declared" not in git(tree, "show", f"{inside.commit}~:kernel/bpf/core.c")


def test_comments_alone_are_what_comment_commits_change(tree: Path, tmp_path: Path) -> None:
    for each in made(tree, tmp_path, 8).made:
        if each.kind == "comment":
            changed = re.findall(r"(?m)^[-+](?![-+]).*", git(tree, "show", "--format=", each.commit))
            assert [line[:4] for line in changed] == ["+/* "]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_bisection_names_what_was_planted(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    leave_out_root()
    monkeypatch.setattr(measure, "guest_programs", lambda: (FAKEVNG,))
    monkeypatch.setattr(build, "_NEEDED_BYTES", 0)
    monkeypatch.chdir(tmp_path)
    of_seed = made(tree, tmp_path, seed, 2, SMALL)
    write_truth(of_seed, tmp_path / "truth.json")
    words = ["bisect", "--tree", str(tree), "--good", of_seed.base, "--bad", "planted", "--mode", "icount"]
    words += ["--case", "seq-get/nr_maps=16", "--isolation", ISOLATION, "--cache", str(tmp_path / "cache")]

    ended = CliRunner().invoke(main, [*words, "--format", "json"], catch_exceptions=False)

    assert ended.exit_code == 0, ended.stderr
    named = [
        [each["commit"] for each in culprit["commits"]] for culprit in json.loads(ended.stdout)["culprits"]
    ]
    assert named == [[json.loads((tmp_path / "truth.json").read_text())["planted"]["0.patch"]]]
