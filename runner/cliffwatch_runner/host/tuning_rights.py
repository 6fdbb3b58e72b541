"""Tunes a host with this user's rights: as root, or through the tuning helper and sudo."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cliffwatch_runner import process
from cliffwatch_runner.host.knobs import tuning_plan
from cliffwatch_runner.host.tuning import KnobOutcome, TuningOutcome, tune_host
from cliffwatch_runner.host.tuning_helper import INSTALLED, request_line

_SUDO_SECONDS = 20.0
_TUNE_SECONDS = 120.0


def helper_allowed() -> bool:
    """True if sudo lets this user start the helper without a password."""
    if not INSTALLED.exists():
        return False
    try:
        return process.run(["sudo", "-n", "-l", str(INSTALLED)], deadline=_SUDO_SECONDS).ok
    except OSError:
        return False


def lines_to_allow(user: str) -> tuple[str, ...]:
    """Returns the commands with which an administrator lets this user tune the host."""
    rule = f'{user} ALL=(root) NOPASSWD: {INSTALLED} ""'
    return (
        (
            "cliffwatch doctor --tuning-helper ./cliffwatch-tune "
            f"&& sudo install -o root -g root -m 0755 ./cliffwatch-tune {INSTALLED}"
        ),
        f"echo '{rule}' | sudo install -o root -g root -m 0440 /dev/stdin /etc/sudoers.d/cliffwatch-tune",
    )


@contextmanager
def tune_as_allowed(cpus: frozenset[int], *, report: Callable[[str], None]) -> Iterator[TuningOutcome]:
    """Tunes this host for guests on these CPUs while the block runs.

    The caller must hold the exclusive host lock.
    """
    if os.geteuid() != 0 and helper_allowed():
        with tune_by_helper(["sudo", "-n", str(INSTALLED)], cpus, report=report) as tuned:
            yield tuned
        return
    with tune_host(tuning_plan(Path("/"), cpus), report=report) as tuned:
        yield tuned


@contextmanager
def tune_by_helper(
    argv: Sequence[str], cpus: frozenset[int], *, report: Callable[[str], None]
) -> Iterator[TuningOutcome]:
    """Like `tune_host`, through the helper that `argv` starts.

    The helper also restores when this process dies.
    """
    with process.conversation(argv, patience=_TUNE_SECONDS) as helper:
        answer = _request(helper, request_line(cpus))
        outcomes = answer.get("outcomes")
        if not isinstance(outcomes, list):
            report(
                f"Not tuned: {answer.get('refused', 'the tuning helper gave no answer')}. "
                "See `cliffwatch doctor --mode walltime`."
            )
        _report(answer, report)
        yield TuningOutcome(
            outcomes=tuple(KnobOutcome(**outcome) for outcome in outcomes)
            if isinstance(outcomes, list)
            else ()
        )
        helper.end_input()
        _report(_answer(helper), report)


def _request(helper: process.Conversation, line: str) -> dict[str, object]:
    try:
        helper.send(line)
    except BrokenPipeError:
        return {}
    return _answer(helper)


def _answer(helper: process.Conversation) -> dict[str, object]:
    line = helper.receive(_TUNE_SECONDS)
    try:
        answer = json.loads(line or "")
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _report(answer: dict[str, object], report: Callable[[str], None]) -> None:
    sentences = answer.get("sentences")
    for sentence in sentences if isinstance(sentences, list) else ():
        report(str(sentence))
