"""What a pull request says of a target that was rehearsed: its rows with a warning, and no alarm."""

from dataclasses import replace

from msgspec.structs import replace as copy
from states import measured, regressed, row, state

from cliffwatch.comparing.validity import rehearsal_warning
from cliffwatch.pull_request.comment import check_run, regression_comment, sticky_comment
from cliffwatch.pull_request.state import PullRequestState

REHEARSAL = "rehearsal-x86-64"
(MARK,) = rehearsal_warning(REHEARSAL)


def on(*platforms: str) -> PullRequestState:
    """The same regression on each, confirmed by fresh boots."""
    progresses = []
    for platform in platforms:
        of_run = measured(*(copy(each, platform=platform) for each in regressed()))
        warnings = rehearsal_warning(platform)
        compared = replace(of_run.compared, warnings=warnings)
        progresses.append((platform, "walltime", replace(of_run, compared=compared)))
    return state(*progresses)


def test_the_comment_says_once_that_a_target_was_rehearsed() -> None:
    comment = sticky_comment(on(REHEARSAL))

    assert " ".join(comment.partition("<details>")[0].split()).count(MARK[:60]) == 1
    assert "what users feel" not in comment
    assert "local-storage-cache-seq-get" in comment


def test_what_has_room_for_a_title_alone_says_it_too() -> None:
    assert check_run(on(REHEARSAL)).title.startswith("Rehearsal: ")
    assert sticky_comment(on(REHEARSAL)).splitlines()[1].startswith("### Cliffwatch: rehearsal: ")
    assert not check_run(on("amd-rome", REHEARSAL)).title.startswith("Rehearsal: ")


def test_a_regression_in_a_rehearsal_notifies_nobody_and_fails_no_check() -> None:
    assert regression_comment(on(REHEARSAL)) is None
    assert check_run(on(REHEARSAL), fail_on="regression").conclusion == "neutral"


def test_a_regression_that_hardware_does_not_have_is_not_counted_as_confirmed() -> None:
    quiet = measured(row("local-storage-cache-seq-get", 0.001, "unchanged", platform="amd-rome"))
    rehearsed = measured(row("local-storage-cache-seq-get", 0.3, "regression", platform=REHEARSAL))
    comment = sticky_comment(state(("amd-rome", "walltime", quiet), (REHEARSAL, "walltime", rehearsed)))

    assert "1 unchanged" in comment
    assert "confirmed on fresh boots" not in comment


def test_beside_hardware_the_alarm_is_of_hardware_alone() -> None:
    both = on("amd-rome", REHEARSAL)
    comment = regression_comment(both)

    assert comment is not None
    assert REHEARSAL not in comment
    assert check_run(both, fail_on="regression").conclusion == "failure"
