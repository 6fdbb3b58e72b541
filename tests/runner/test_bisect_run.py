"""`cliffwatch bisect-run` marks commits for `git bisect run`: a toy history, bisected by git itself."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from isolation_here import ISOLATION, leave_out_root
from toy import change, git

from cliffwatch.command.main import main

pytestmark = pytest.mark.usefixtures("stand_in")

MARKS = {0: "good", 1: "bad", 125: "skip"}


def judged(repository: Path, folder: Path, *words: str, good: str = "v6.12") -> Result:
    leave_out_root()
    plain = ["bisect-run", "--tree", str(repository), "--good", good, "--mode", "icount", "--boots", "1"]
    plain += ["--isolation", ISOLATION, "--cache", str(folder / "cache")]
    return CliRunner().invoke(main, [*plain, *words], catch_exceptions=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results come to lie where the command is called."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commit_that_made_it_slow_is_found_past_one_that_does_not_build(
    repository: Path, here: Path
) -> None:
    for number in range(3):
        change(repository, "README", f"{number}\n", f"docs: Say {number}")
    change(
        repository,
        "kernel/bpf/core.c",
        "int bpf_prog_run(void) { return nothing; }\n",
        "bpf: Break the build",
    )
    git(repository, "checkout", "--quiet", "v6.12", "--", "kernel/bpf/core.c")
    git(repository, "commit", "--quiet", "--message", "bpf: Build again")
    culprit = change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    for number in range(3):
        change(repository, "README", f"again {number}\n", f"docs: Say {number} again")

    said = git(repository, "bisect", "start", "HEAD", "v6.12")
    for _ in range(10):
        ended = judged(repository, here, "--case", "seq-get/nr_maps=16")
        said = subprocess.run(
            ["git", "-C", str(repository), "bisect", MARKS[ended.exit_code]],
            check=False,
            capture_output=True,
            text=True,
        ).stdout
        if "is the first bad commit" in said:
            break

    assert f"{culprit} is the first bad commit" in said


def test_what_does_not_build_is_skipped_and_what_is_equal_is_good(repository: Path, here: Path) -> None:
    change(repository, "README", "nothing\n", "docs: Say nothing")
    equal = judged(repository, here, "--case", "seq-get/nr_maps=16")
    change(
        repository,
        "kernel/bpf/core.c",
        "int bpf_prog_run(void) { return nothing; }\n",
        "bpf: Break the build",
    )
    broken = judged(repository, here, "--case", "seq-get/nr_maps=16")

    assert (equal.exit_code, broken.exit_code) == (0, 125)
    assert "good: none of 1 row: regression" in equal.stderr
    assert "local-storage-cache-seq-get/nr_maps=16  insns/op" in equal.stderr
    assert "skip:" in broken.stderr
    assert "does not build" in broken.stderr


def test_only_the_change_that_is_sought_makes_a_commit_bad(repository: Path, here: Path) -> None:
    change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    case = ("--case", "seq-get/nr_maps=16")

    assert judged(repository, here, *case).exit_code == 1
    assert judged(repository, here, *case, "--change", "improvement").exit_code == 0
    assert judged(repository, here, *case, "--threshold", "99").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--case", "no-such"), "no case of any suite matches 'no-such'"),
        (("--suite", "no-such", "--case", "x"), "there is no suite 'no-such'"),
    ],
    ids=["an unknown case", "an unknown suite"],
)
def test_what_is_wrong_with_every_commit_stops_git(
    repository: Path, here: Path, words: tuple[str, ...], said: str
) -> None:
    ended = judged(repository, here, *words)

    assert ended.exit_code == 128
    assert said in ended.stderr


def test_a_good_commit_that_is_not_there_stops_git(repository: Path, here: Path) -> None:
    ended = judged(repository, here, "--case", "seq-get", good="v9.99")

    assert ended.exit_code == 128
    assert "v9.99" in ended.stderr


def test_git_that_bisects_without_a_worktree_says_which_commit_it_means(repository: Path, here: Path) -> None:
    slow = change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    change(repository, "behaviour", "good\n", "bpf: Make it quick again")
    git(repository, "update-ref", "BISECT_HEAD", slow)

    assert judged(repository, here, "--case", "seq-get/nr_maps=16").exit_code == 1


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--good", "v6.12", "--treshold", "1"),
        ("--good", "v6.12", "--threshold", "x"),
        ("--good", "v6.12", "--threshold", "nan"),
        ("--good", "v6.12", "--boots", "0"),
        ("--good", "nope", "--suite", "local-storage"),
        ("--good", "v6.12", "--suite", "no-such"),
    ],
)
def test_a_mistake_in_the_command_stops_git_and_marks_no_commit_bad(
    repository: Path, here: Path, words: tuple[str, ...]
) -> None:
    command = ["bisect-run", "--tree", str(repository), "--cache", str(here / "cache"), *words]
    assert CliRunner().invoke(main, command).exit_code == 128
