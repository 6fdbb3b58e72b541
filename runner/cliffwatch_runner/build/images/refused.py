"""Why a kernel that somebody else built is not taken, carried out of the steps that take it."""

from dataclasses import replace

from cliffwatch.failure import Failure, wrong_usage


class Refused(Exception):
    """Holds the failure, whose message comes after the name of what was given."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def refused(message: str, next_step: str, evidence: str = "") -> Refused:
    return Refused(replace(wrong_usage(message, next_step), evidence=evidence))


def said(failure: Failure, message: str, next_step: str) -> Refused:
    """The failure of a step, in words of what was wanted of it; the host's stays as it is."""
    return Refused(failure) if failure.whose == "host" else refused(message, next_step, failure.evidence)
