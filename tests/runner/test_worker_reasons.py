"""Why a job ended, in the words of the run and not of its progress."""

import pytest

from cliffwatch_runner.process import Finished
from cliffwatch_runner.worker.job import _EarlyEnd, _outcome

PROGRESS = "[    59 s] build head:  98%, net/ipv4/tcp.o, about 2 s left\n" * 60
FAILURE = "cliffwatch: the disk is full\n    /var/tmp\n  make room\n"


def finished(status: int, output: str) -> Finished:
    return Finished(argv=("run",), status=status, timed_out=False, stopped=False, seconds=1.0, output=output)


@pytest.mark.parametrize("before", ["", PROGRESS])
def test_a_failed_job_says_what_the_run_said_last(before: str) -> None:
    assert _outcome(finished(4, before + FAILURE), _EarlyEnd()) == ("host-failed", FAILURE.rstrip())


def test_several_failures_are_all_said() -> None:
    assert _outcome(finished(3, PROGRESS + FAILURE + FAILURE), _EarlyEnd()) == (
        "kernel-failed",
        (FAILURE + FAILURE).rstrip(),
    )


def test_a_run_that_cannot_be_done_as_asked_is_not_the_kernels_fault() -> None:
    said = "cliffwatch: no suite executes what head changes: behaviour\n  name what to measure all the same\n"
    assert _outcome(finished(2, PROGRESS + said), _EarlyEnd()) == ("not-possible", said.rstrip())


def test_a_run_that_died_without_a_word_leaves_its_last_lines() -> None:
    outcome, reason = _outcome(finished(137, PROGRESS), _EarlyEnd())

    assert outcome == "host-failed"
    assert reason is not None
    assert reason.count("\n") == 39
