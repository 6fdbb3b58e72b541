"""Expected failures, as values, and the exit codes of the `cliffwatch` command, fixed by its interface."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal


class Exit(IntEnum):
    """0 = done; 1 = done and `--fail-on` was met; 2 = wrong usage or unreadable input; 3 = the kernel under
    test failed; 4 = this host or service failed, or an error of cliffwatch itself. An interrupted command
    ends with 130 and one whose output nobody reads any more with 141, as shells expect.
    """

    DONE = 0
    FAIL_ON_MET = 1
    USAGE = 2
    KERNEL_FAILED = 3
    HOST_FAILED = 4
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141


Party = Literal["usage", "kernel", "host"]

_EXITS: dict[Party, Exit] = {"usage": Exit.USAGE, "kernel": Exit.KERNEL_FAILED, "host": Exit.HOST_FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An expected failure."""

    whose: Party
    """Who reads it: the caller, the developer of the kernel under test, or the operator of the host."""
    message: str
    """What happened, in one sentence."""
    next_step: str
    """What the reader can do."""
    evidence: str = ""
    """Raw text that shows it, such as a compiler's error or the end of a console, cut to what a person reads.
    """

    def __str__(self) -> str:
        return f"{self.message}: {self.next_step}"

    @property
    def exit(self) -> Exit:
        return _EXITS[self.whose]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFailure(Failure):
    """A request to another server that failed. It is the host's failure if a retry may succeed."""

    status: int = 0
    """HTTP status; 0 if the server did not answer."""
    wait: float = 0.0
    """Seconds to wait before a retry; 0 if the server asks for none."""

    @property
    def is_gone(self) -> bool:
        return self.status in (404, 410)

    @property
    def is_temporary(self) -> bool:
        return self.whose == "host"


def wrong_usage(message: str, next_step: str, evidence: str = "") -> Failure:
    """The caller named something that does not exist, cannot be read or cannot be done."""
    return Failure(whose="usage", message=message, next_step=next_step, evidence=evidence)


def kernel_failed(message: str, next_step: str, evidence: str = "") -> Failure:
    """The kernel under test does not build, boot or measure."""
    return Failure(whose="kernel", message=message, next_step=next_step, evidence=evidence)


def host_failed(message: str, next_step: str, evidence: str = "") -> Failure:
    """The host, or a service that it needs, failed; the same command may succeed later."""
    return Failure(whose="host", message=message, next_step=next_step, evidence=evidence)
