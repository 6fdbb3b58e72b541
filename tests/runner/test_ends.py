"""Which commits are compared: branches, ranges, and names that make no comparison."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toy import change, git

from cliffwatch.command.main import main
from cliffwatch.failure import Failure
from cliffwatch_runner.source.ranges.ends import NamedEnds, read_ends

pytestmark = pytest.mark.usefixtures("stand_in")


def plan(tree: object, folder: Path, *words: object) -> Result:
    """The plan of a run of the suite that the toy tree has."""
    arguments = [
        "run",
        "--tree",
        tree,
        "--suite",
        "local-storage",
        "--dry-run",
        "--cache",
        folder / "cache",
        *words,
    ]
    return CliRunner().invoke(main, [str(word) for word in arguments], catch_exceptions=False)


def first_lines(tree: object, folder: Path, *words: object) -> list[str]:
    ended = plan(tree, folder, *words)
    assert ended.exit_code == 0, ended.stderr
    return ended.stdout.splitlines()[:3]


@pytest.fixture
def diverged(repository: Path) -> dict[str, str]:
    """Master and topic parted at v6.12: one commit on the one, two on the other. The commits by name."""
    start = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "--quiet", "-b", "topic")
    change(repository, "notes", "one\n", "bpf: Take notes")
    topic = change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    git(repository, "checkout", "--quiet", "master")
    master = change(repository, "news", "newer\n", "Linux 6.13")
    return {"start": start, "topic": topic, "master": master}


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ("master..topic", None, NamedEnds(base="master", head="topic")),
        (None, "v6.12..topic", NamedEnds(base="v6.12", head="topic")),
        ("v6.12...topic", None, NamedEnds(base="v6.12", head="topic", parts_at_merge_base=True)),
        ("master..", None, NamedEnds(base="master", head="HEAD")),
        ("..topic", None, NamedEnds(base="HEAD", head="topic")),
        ("master", "topic", NamedEnds(base="master", head="topic")),
        ("v6.12-rc1", None, NamedEnds(base="v6.12-rc1", head=None)),
    ],
)
def test_a_range_as_one_word_names_both_ends(base: str | None, head: str | None, expected: NamedEnds) -> None:
    assert read_ends(base, head) == expected


@pytest.mark.parametrize(
    ("base", "head", "message", "next_step"),
    [
        ("a..b", "c", "is a range, which names base and head", "leave out --head"),
        ("a", "b..c", "is a range, which names base and head", "leave out --base"),
        ("a..b..c", None, "that is no range", "A..B"),
        ("..", None, "that is no range", "A..B"),
        ("a....b", None, "that is no range", "A..B"),
    ],
)
def test_what_is_no_range_is_refused(base: str, head: str | None, message: str, next_step: str) -> None:
    refused = read_ends(base, head)

    assert isinstance(refused, Failure)
    assert message in refused.message
    assert next_step in refused.next_step


@pytest.mark.parametrize(
    "words",
    [
        ("--base", "master", "--head", "topic"),
        ("--base", "master..topic"),
        ("--head", "master...topic"),
    ],
)
def test_a_branch_as_base_means_the_merge_base(
    repository: Path, tmp_path: Path, diverged: dict[str, str], words: tuple[str, ...]
) -> None:
    said, base, head = first_lines(repository, tmp_path, *words)

    start = diverged["start"][:12]
    assert (
        said
        == f"Base is {start}, the merge base of master and topic: 2 commits of topic, without 1 newer commit"
        " of master"
    )
    assert base.startswith(f"base  {start}")
    assert head.startswith(f"head  {diverged['topic'][:12]}")


def test_the_tree_may_be_a_url(repository: Path, tmp_path: Path, diverged: dict[str, str]) -> None:
    said, *_ = first_lines(f"file://{repository}", tmp_path, "--base", "master", "--head", "topic")

    assert said.startswith(f"Base is {diverged['start'][:12]}, the merge base of master and topic")


def test_a_merge_base_of_a_url_is_not_taken_from_a_history_that_was_cut(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both branches merge an old tag at their tips: the tag is near, the commit at which they
    parted is far.
    """
    monkeypatch.setattr("cliffwatch_runner.source.ranges.history._DEPTHS", (3, 50))
    git(repository, "checkout", "--quiet", "-b", "old")
    change(repository, "old", "old\n", "Old release")
    git(repository, "checkout", "--quiet", "master")
    git(repository, "merge", "--quiet", "--no-ff", "--message", "Merge old", "old")
    parted = git(repository, "rev-parse", "HEAD")
    for branch in ("one", "two"):
        git(repository, "checkout", "--quiet", "-b", branch, parted)
        for count in range(5):
            change(repository, branch, f"{count}\n", f"{branch} {count}")
        tree = git(repository, "rev-parse", "HEAD^{tree}")
        merged = git(repository, "commit-tree", tree, "-p", "HEAD", "-p", "old", "-m", "Merge old again")
        git(repository, "reset", "--quiet", "--hard", merged)

    said, *_ = first_lines(f"file://{repository}", tmp_path, "--base", "one", "--head", "two")

    assert said.startswith(
        f"Base is {parted[:12]}, the merge base of one and two: 6 commits of two, without 6 newer commits"
        " of one"
    )


def test_a_tag_or_a_hash_is_taken_as_named_and_commits_of_its_own_are_said(
    repository: Path, tmp_path: Path, diverged: dict[str, str]
) -> None:
    master, start = diverged["master"], diverged["start"]
    said, base, _ = first_lines(repository, tmp_path, "--base", master, "--head", "topic")

    assert base.startswith(f"base  {master[:12]}")
    assert (
        said == f"Base is {master[:12]}, as named; head left its history at {start[:12]}, so 1 commit of base"
        f" count as well as 2 commits of head (--base {start[:12]} measures those of head alone)"
    )
    assert first_lines(repository, tmp_path, "--base", "v6.12", "--head", "topic")[0].startswith("base ")


@pytest.mark.parametrize("base", ["topic", "HASH"])
def test_a_head_that_is_older_than_base_is_refused(
    repository: Path, tmp_path: Path, diverged: dict[str, str], base: str
) -> None:
    name = diverged["topic"] if base == "HASH" else base
    ended = plan(repository, tmp_path, "--base", name, "--head", "v6.12")

    assert ended.exit_code == 2
    assert (
        f"head v6.12 is older than base {name}, which has all of its commits and 2 commits more"
        in ended.stderr
    )
    assert f"exchange them: --base v6.12 --head {name}" in ended.stderr


def test_a_patch_on_an_older_head_is_compared_with_that_head(
    repository: Path, tmp_path: Path, diverged: dict[str, str]
) -> None:
    patch = tmp_path / "slow.patch"
    patch.write_text("Subject: bpf: Slow\n---\n--- a/behaviour\n+++ b/behaviour\n@@ -1 +1 @@\n-good\n+slow\n")
    words = ("--base", "topic", "--head", "v6.12", "--patch", patch)
    said, base, head = first_lines(repository, tmp_path, *words)

    assert said.startswith(f"Base is {diverged['start'][:12]}, the merge base of topic and v6.12")
    assert base.startswith(f"base  {diverged['start'][:12]}")
    assert "(bpf: Slow)" in head


def test_branches_without_a_common_commit_are_refused(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "--quiet", "--orphan", "other")
    change(repository, "other", "other\n", "Another history")
    ended = plan(repository, tmp_path, "--base", "master", "--head", "other")

    assert ended.exit_code == 2
    assert "master and other have no commit in common" in ended.stderr
    assert first_lines(repository, tmp_path, "--base", "v6.12", "--head", "other")[0].endswith(
        "it has no commit in common with other, so all differences count"
    )


def test_equal_sides_are_said(repository: Path, tmp_path: Path) -> None:
    commit = git(repository, "rev-parse", "--short=12", "HEAD")
    said, *_ = first_lines(repository, tmp_path, "--base", "HEAD", "--head", "HEAD")
    assert said == f"Base and head are both {commit}: this run shows how well a kernel's values repeat"

    git(repository, "commit", "--quiet", "--allow-empty", "--message", "Nothing")
    empty = git(repository, "rev-parse", "--short=12", "HEAD")
    said, *_ = first_lines(repository, tmp_path, "--base", "v6.12", "--head", "HEAD")
    assert (
        said
        == f"Base and head ({commit}, {empty}) have the same files: this run shows how well a kernel's values"
        " repeat"
    )

    arms = ("--arm", "one=HEAD", "--arm", "two=HEAD")
    assert first_lines(repository, tmp_path, *arms)[0].startswith(f"Base and two are both {empty}")
    assert first_lines(repository, tmp_path, *arms[:3], "two=HEAD boot=nosmt")[0].startswith("one ")


def test_a_range_is_no_revision_of_an_arm(repository: Path, tmp_path: Path) -> None:
    ended = plan(repository, tmp_path, "--arm", "one=v6.12..HEAD", "--arm", "two=HEAD")

    assert ended.exit_code == 2
    assert "is a range, not one revision" in ended.stderr


def test_a_tree_without_history_needs_none(repository: Path, tmp_path: Path) -> None:
    (repository / ".git").rename(tmp_path / "away")

    assert first_lines(repository, tmp_path, "--base", "HEAD", "--head", "HEAD")[0].startswith(
        "Base and head are both"
    )
