"""kernel-patches' branches, its records of a series, and which of a branch's commits count."""

import pytest

from cliffwatch.pull_request.mailing_list_series import (
    BranchCommit,
    MeasuredRange,
    SeriesBranch,
    SeriesRecord,
    find_measured_range,
    read_series_branch,
    read_series_record,
    touches_more_than_ci,
    version_in_subject,
)

UPSTREAM = "4b" * 20


def test_a_branch_of_a_series() -> None:
    assert read_series_branch("series/358111=>bpf-next") == SeriesBranch(series=358111, target="bpf-next")
    assert SeriesBranch(series=1, target="bpf-next").base_branch == "bpf-next_base"


@pytest.mark.parametrize(
    "name",
    [
        "bpf-next",
        "series/358111",
        "series/=>bpf",
        "series/1=>",
        "x/series/1=>bpf",
        "series/1=>bpf next",
        "series/1=>-x",
    ],
)
def test_other_branches(name: str) -> None:
    assert read_series_branch(name) is None


def test_what_the_daemon_writes_into_a_pull_request() -> None:
    body = (
        "Pull request for series with\nsubject: [bpf-next,v2,0/5] Faster storage\nversion: 2\n"
        "url: https://patchwork.kernel.org/project/netdevbpf/list/?series=412345\n"
    )

    assert read_series_record(body) == SeriesRecord(
        subject="[bpf-next,v2,0/5] Faster storage",
        version=2,
        url="https://patchwork.kernel.org/project/netdevbpf/list/?series=412345",
        series=412345,
    )


def test_what_the_daemon_writes_after_a_push() -> None:
    comment = (
        f"Upstream branch: {UPSTREAM}\r\nseries:"
        " https://patchwork.kernel.org/project/netdevbpf/list/?series=412345\r\nversion: 3\r\n"
    )

    record = read_series_record(comment)

    assert (record.upstream, record.series, record.version) == (UPSTREAM, 412345, 3)
    assert read_series_record(f"Master branch: {UPSTREAM}").upstream == UPSTREAM


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version: many\nUpstream branch: main\nurl: https://[::bad",
        "Upstream branch: --upload-pack=sh",
        "url: ?series=1;rm",
        "x" * 100_000 + "\nversion: 4",
    ],
)
def test_what_records_nothing(text: str) -> None:
    record = read_series_record(text)

    assert (record.version, record.upstream, record.series) == (None, None, None)


@pytest.mark.parametrize(
    ("subject", "version"),
    [
        ("[PATCH bpf-next v3 0/5] bpf: faster", 3),
        ("[bpf-next,v2,1/5] bpf: faster", 2),
        ("[PATCH v10] x", 10),
        ("[PATCH 1/2] the v2 interface", 1),
        ("no brackets v2", 1),
        ("", 1),
    ],
)
def test_the_version_of_a_subject(subject: str, version: int) -> None:
    assert version_in_subject(subject) == version


def test_commits_of_ci_files_alone_do_not_count() -> None:
    assert not touches_more_than_ci([".github/workflows/test.yml", "ci/vmtest/configs/DENYLIST"])
    assert touches_more_than_ci([".github/workflows/test.yml", "kernel/bpf/core.c"])
    assert touches_more_than_ci(["circus/clown.c"])
    assert touches_more_than_ci([])


def history(*named: str) -> dict[str, BranchCommit]:
    """A line of commits, the oldest first: `ci…` touch CI files, others the kernel."""
    return {
        name: BranchCommit(
            commit=name,
            parents=(named[index - 1],) if index else (),
            paths=(".github/a.yml",) if name.startswith("ci") else ("kernel/bpf/core.c",),
        )
        for index, name in enumerate(named)
    }


def test_the_ci_files_below_a_series_are_left_out() -> None:
    commits = history("old", "upstream", "ci1", "p1", "p2")

    assert find_measured_range(commits, merge_base="ci1", head="p2") == MeasuredRange(
        base="upstream", head="p2", commits=("p1", "p2")
    )


def test_the_ci_files_on_top_of_and_within_a_series_are_left_out() -> None:
    commits = history("upstream", "ci1", "p1", "ci2", "p2", "ci3", "ci4")

    assert find_measured_range(commits, merge_base="ci1", head="ci4") == MeasuredRange(
        base="upstream", head="p2", commits=("p1", "p2")
    )


def test_a_branch_of_ci_files_alone_has_nothing_to_measure() -> None:
    commits = history("upstream", "ci1", "ci2")

    assert find_measured_range(commits, merge_base="ci1", head="ci2") == MeasuredRange(
        base="upstream", head="upstream", commits=()
    )
    assert find_measured_range(commits, merge_base="ci2", head="ci2").commits == ()


def test_the_recorded_base_is_taken_where_it_lies_at_or_below_the_merge_base() -> None:
    commits = history("older", "upstream", "ci1", "p1", "p2")

    assert find_measured_range(commits, merge_base="ci1", head="p2", recorded="older").base == "older"
    assert find_measured_range(commits, merge_base="ci1", head="p2", recorded="elsewhere").base == "upstream"
    assert (
        find_measured_range(commits, merge_base="ci1", head="p2", recorded="p1").base == "upstream"
    )  # it would hide a commit


def test_what_was_merged_into_a_branch_is_not_counted_again() -> None:
    commits = history("fork", "p1")
    commits["next"] = BranchCommit(commit="next", parents=("fork",), paths=("a",))
    commits["merge"] = BranchCommit(commit="merge", parents=("p1", "next"), paths=())

    assert find_measured_range(commits, merge_base="next", head="merge") == MeasuredRange(
        base="next", head="merge", commits=("p1", "merge")
    )


def test_what_is_not_known_counts() -> None:
    commits = history("base", "p1")

    assert find_measured_range(commits, merge_base="unknown", head="p1").base == "unknown"
