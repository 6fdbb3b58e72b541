"""What builds leave is shown and pruned: the least recently used first, and never under a run
that uses it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from golden import assert_golden
from ordinary_user import as_ordinary_user
from toy import RecordedProgress, change, request, run_toy

from cliffwatch.command.main import main
from cliffwatch.counting import parse_size, size_text
from cliffwatch.formats.result_directory import Run
from cliffwatch_runner.build.cache import entries as cache_entries
from cliffwatch_runner.build.cache.entries import hold_lock, lock_alone
from cliffwatch_runner.build.cache.listing import CacheEntry, Listing, list_cache
from cliffwatch_runner.build.cache.pruning import choose_entries, prune_built, remove
from cliffwatch_runner.build.cache.uses import MARK, Uses, cache_uses, is_used
from cliffwatch_runner.command.cache import table_lines

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"


def entry(kind: str, days_ago: float, size: int, *, in_use: bool = False, **parts: int) -> CacheEntry:
    name = f"{kind}{days_ago:g}"
    return CacheEntry(
        kind=kind,  # type: ignore[arg-type]
        name=name,
        path=Path(name),
        bytes=size,
        parts=parts,
        last_used=NOW - timedelta(days=days_ago),
        in_use=in_use,
        about="",
    )


def kernel(cache: Path, name: str, days_ago: float = 0.0, size: int = 1 << 20) -> Path:
    """A stored kernel that was last used so long ago."""
    folder = cache / "kernels" / name
    folder.mkdir(parents=True)
    (folder / "bzImage").write_bytes(b"x" * size)
    (folder / "kernel.json").write_text('{"release": "6.12.57"}')
    (folder / MARK).touch()
    when = datetime.now(UTC).timestamp() - days_ago * 86400
    os.utime(folder / MARK, (when, when))
    return folder


def cliffwatch(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["cache", *arguments])


@contextmanager
def other_process(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that took an entry and lives on."""
    script = (
        "import sys; from pathlib import Path; from cliffwatch_runner.build.cache.uses import Uses\n"
        "uses = Uses(); print(uses.take(Path(sys.argv[1])), flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", script, str(folder)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        yield process
        process.kill()


def test_the_table_aligns_kinds_sizes_and_last_use() -> None:
    entries = (
        entry("kernel", 0, 21 << 20, in_use=True),
        entry("kernel", 40, 20 << 20),
        entry("bench", 3, 9 << 20),
        entry("worktree", 0.5, 4 << 30, source=1700 << 20, output=2200 << 20),
        entry("ccache", 0.5, 611 << 20),
        entry("mirror", 0, 310 << 20),
        entry("failure", 7, 12 << 10),
        entry("leftover", 2, 1 << 20),
    )
    listed = Listing(cache=Path("/home/me/.cache/cliffwatch"), entries=entries, free_bytes=31 << 30)

    assert_golden("cache.txt", "\n".join(table_lines(listed)) + "\n")


def test_the_least_recently_used_go_until_the_rest_fits() -> None:
    entries = [entry("kernel", days, 10) for days in (1, 5, 3, 2)]

    def gone(keep: int, unused_since: datetime | None = None) -> list[str]:
        return [each.name for each in choose_entries(entries, keep=keep, unused_since=unused_since, now=NOW)]

    assert gone(40) == []
    assert gone(39) == ["kernel5"]
    assert gone(11) == ["kernel5", "kernel3", "kernel2"]
    assert gone(40, NOW - timedelta(days=2.5)) == ["kernel5", "kernel3"]
    assert gone(0) == ["kernel5", "kernel3", "kernel2", "kernel1"]


def test_what_is_in_use_counts_and_stays() -> None:
    entries = [entry("kernel", 9, 10, in_use=True), entry("kernel", 1, 10), entry("worktree", 2, 10)]

    chosen = choose_entries(entries, keep=10, unused_since=NOW, now=NOW)

    assert [each.name for each in chosen] == ["worktree2", "kernel1"]


def test_what_a_killed_build_left_goes_after_a_day_whatever_the_size() -> None:
    entries = [entry("leftover", 0.5, 10), entry("leftover", 2, 10)]

    assert [each.name for each in choose_entries(entries, keep=1000, unused_since=None, now=NOW)] == [
        "leftover2"
    ]


def test_a_run_leaves_what_the_listing_shows(repository: Path, tmp_path: Path, stand_in: None) -> None:
    assert isinstance(run_toy(request(repository, tmp_path)), Run)

    listed = list_cache(tmp_path / "cache")

    assert [len(listed.of(kind)) for kind in ("kernel", "bench", "worktree", "ccache", "mirror")] == [
        1,
        1,
        1,
        1,
        1,
    ]
    assert not any(each.in_use for each in listed.entries)
    (built,) = listed.of("kernel")
    assert built.about.startswith("linux 6.12")
    assert built.bytes >= sum(path.stat().st_size for path in built.path.iterdir() if path.stat().st_blocks)
    (worktree,) = listed.of("worktree")
    assert set(worktree.parts) == {"source", "output"}
    assert 0 < sum(worktree.parts.values()) <= worktree.bytes
    as_json = json.loads(cliffwatch("--cache", str(tmp_path / "cache"), "--format", "json").output)
    assert as_json["bytes"] == listed.bytes
    assert {each["kind"] for each in as_json["entries"]} == {
        "kernel",
        "bench",
        "worktree",
        "ccache",
        "mirror",
    }


def test_a_run_prunes_older_kernels_and_never_its_own(
    repository: Path, tmp_path: Path, stand_in: None
) -> None:
    run_toy(request(repository, tmp_path, out=tmp_path / "one"))
    (first,) = list_cache(tmp_path / "cache").of("kernel")
    (first_bench,) = list_cache(tmp_path / "cache").of("bench")
    commit = change(repository, "kernel/bpf/core.c", "int core = 2;\n", "bpf: Change core")
    progress = RecordedProgress()

    run_toy(request(repository, tmp_path, base=commit, out=tmp_path / "two", cache_size=0), progress)

    (kept,) = list_cache(tmp_path / "cache").of("kernel")
    (kept_bench,) = list_cache(tmp_path / "cache").of("bench")
    assert kept.name != first.name
    assert kept_bench.name != first_bench.name
    assert any(
        line.startswith("removed from the cache, least recently used first: 2 ") for line in progress.lines
    )


def test_a_kernel_that_was_used_again_outlives_newer_ones(
    repository: Path, tmp_path: Path, stand_in: None
) -> None:
    run_toy(request(repository, tmp_path, head="v6.12", out=tmp_path / "one"))
    (ours,) = list_cache(tmp_path / "cache").of("kernel")
    long_ago = (NOW - timedelta(days=99)).timestamp()
    os.utime(ours.path / MARK, (long_ago, long_ago))
    kernel(tmp_path / "cache", "newer", days_ago=1, size=8 << 20)

    run_toy(request(repository, tmp_path, head="v6.12", out=tmp_path / "two"))
    remove_all_but_one = list_cache(tmp_path / "cache", ("kernel",)).bytes - 1
    prune_built(tmp_path / "cache", remove_all_but_one, datetime.now(UTC))

    assert [each.name for each in list_cache(tmp_path / "cache").of("kernel")] == [ours.name]


def test_an_entry_that_another_process_uses_stays_until_it_ends_however_it_ends(tmp_path: Path) -> None:
    folder = kernel(tmp_path, "ours", days_ago=50)
    with other_process(folder) as process:
        (seen,) = list_cache(tmp_path).entries
        assert seen.in_use
        assert "nothing" in cliffwatch("prune", "--cache", str(tmp_path), "--keep", "0").output
        assert folder.is_dir()
        process.send_signal(signal.SIGKILL)
        process.wait()

    assert (
        "Removed 1 entry, 1.0 MiB; 0 B are left."
        in cliffwatch("prune", "--cache", str(tmp_path), "--keep", "0").output
    )
    assert list((tmp_path / "kernels").iterdir()) == []


def test_an_entry_that_is_taken_between_look_and_removal_stays(tmp_path: Path) -> None:
    folder = kernel(tmp_path, "ours", days_ago=50)
    seen = list_cache(tmp_path).entries
    with cache_uses() as uses:
        assert uses.take(folder)
        pruned = remove(seen)

    assert pruned.removed == ()
    assert folder.is_dir()


def test_who_waited_for_an_entry_that_was_removed_does_not_get_it(tmp_path: Path) -> None:
    """Many takers against many removers: whoever has an entry has a whole one."""
    for _ in range(50):
        folder = kernel(tmp_path, "ours", days_ago=50)
        seen = list_cache(tmp_path).entries
        remover = threading.Thread(target=remove, args=(seen,))
        uses = Uses()
        remover.start()
        taken = uses.take(folder)
        remover.join()
        assert taken == (folder / "bzImage").exists()
        uses.let_go()
        remove(seen)


def test_a_worktree_in_which_somebody_builds_stays_and_goes_afterwards(
    repository: Path, tmp_path: Path, stand_in: None
) -> None:
    run_toy(request(repository, tmp_path, out=tmp_path / "one"))
    (worktree,) = list_cache(tmp_path / "cache").of("worktree")
    script = (
        "import fcntl, sys; file = open(sys.argv[1]); fcntl.flock(file, 2); print(1, flush=True);"
        " sys.stdin.read()"
    )
    argv = [sys.executable, "-c", script, str(worktree.path / "lock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as builder:
        assert builder.stdout is not None
        builder.stdout.readline()
        cliffwatch("prune", "--cache", str(tmp_path / "cache"), "--keep", "0")
        assert (worktree.path / "source" / "Makefile").exists()
        builder.kill()

    cliffwatch("prune", "--cache", str(tmp_path / "cache"), "--keep", "0")
    assert not worktree.path.exists()
    assert list_cache(tmp_path / "cache").entries == ()
    assert isinstance(run_toy(request(repository, tmp_path, out=tmp_path / "two")), Run)


def test_a_worktree_that_is_removed_while_it_is_locked_is_locked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next builder would lock another file of that name, and two would build in one worktree."""
    worktree = tmp_path / "worktrees" / "one"

    def lock_after_removal(descriptor: int) -> bool:
        monkeypatch.setattr(cache_entries, "lock_alone", lock_alone)
        assert remove(list_cache(tmp_path, ("worktree",)).entries).removed
        return lock_alone(descriptor)

    monkeypatch.setattr(cache_entries, "lock_alone", lock_after_removal)
    with hold_lock(worktree / "lock", waiting=lambda: None, should_stop=lambda: False):
        assert is_used(worktree, "lock")


def test_a_dry_run_says_what_would_go_and_removes_nothing(tmp_path: Path) -> None:
    kernel(tmp_path, "old", days_ago=50)
    kernel(tmp_path, "new", days_ago=1)

    result = cliffwatch("prune", "--cache", str(tmp_path), "--older-than", "30", "--dry-run").output

    assert "would remove kernel old (linux 6.12.57), 1.0 MiB, last used " in result
    assert "Would remove 1 entry, 1.0 MiB; 1.0 MiB are left." in result
    assert len(list_cache(tmp_path).entries) == 2


def test_prune_keeps_twenty_gibibytes_where_no_size_is_given(tmp_path: Path) -> None:
    kernel(tmp_path, "ours", days_ago=500)

    assert "Removed nothing; 1.0 MiB are left." in cliffwatch("--cache", str(tmp_path), "prune").output


def test_no_cache_is_no_failure(tmp_path: Path) -> None:
    result = cliffwatch("--cache", str(tmp_path / "none"))

    assert result.exit_code == 0
    assert "nothing was built there" in result.output


@pytest.mark.parametrize("arguments", [(), ("prune",), ("--format", "json")], ids=["show", "prune", "json"])
def test_a_cache_of_another_user_is_a_message(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    kernel(tmp_path, "theirs")
    (tmp_path / "kernels").chmod(0)
    argv = as_ordinary_user([str(CLIFFWATCH), "cache", "--cache", str(tmp_path), *arguments])
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    (tmp_path / "kernels").chmod(0o755)

    assert result.returncode == 2, result.stderr
    assert f"{tmp_path}/kernels belongs to " in result.stderr
    assert "name a folder of your own with --cache" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_cache_that_may_only_be_read_is_shown_and_not_pruned(tmp_path: Path) -> None:
    kernel(tmp_path, "ours", days_ago=50)
    (tmp_path / "kernels").chmod(0o555)
    show = as_ordinary_user([str(CLIFFWATCH), "cache", "--cache", str(tmp_path)])
    shown = subprocess.run(show, capture_output=True, text=True, check=False)
    pruned = subprocess.run([*show, "prune", "--keep", "0"], capture_output=True, text=True, check=False)
    (tmp_path / "kernels").chmod(0o755)

    assert shown.returncode == 0, shown.stderr
    assert "kernels" in shown.stdout
    assert pruned.returncode == 2
    assert "is not writable" in pruned.stderr
    assert (tmp_path / "kernels" / "ours" / "bzImage").exists()


@pytest.mark.parametrize(
    ("text", "count"),
    [("20G", 20 << 30), ("1.5 GiB", 3 << 29), ("512m", 512 << 20), ("0", 0), ("much", None), ("-1G", None)],
)
def test_sizes_are_read(text: str, count: int | None) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1.0 KiB"), (21 << 20, "21 MiB"), (4400 << 20, "4.3 GiB"), (999 << 30, "999 GiB")],
)
def test_sizes_are_written(count: int, text: str) -> None:
    assert size_text(count) == text
