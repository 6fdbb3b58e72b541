"""Expected failures, as values, and the exit codes of the `cliffwatch` command, fixed by its interface."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal


class Exit(IntEnum):
    """0 = done; 1 = done and `--fail-on` was met; 2 = wrong usage or unreadable input; 3 = the kernel under test failed;
    4 = this host or service failed, or an error of cliffwatch itself. An interrupted command ends with 130 and one whose output nobody
    reads any more with 141, as shells expect.
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
    """Something that went wrong in a way that was to be expected.

    `whose` decides who reads it: the caller (`usage`), the developer of the kernel under test (`kernel`) or the operator
    (`host`). `message` is one sentence, `next_step` what the reader can do, `evidence` the raw text that shows it (a
    compiler's error, the end of a console), cut to what a person reads.
    """

    whose: Party
    message: str
    next_step: str
    evidence: str = ""

    @property
    def exit(self) -> Exit:
        return _EXITS[self.whose]


def wrong_usage(message: str, next_step: str) -> Failure:
    """The caller named something that is not there, cannot be read, or cannot be done."""
    return Failure(whose="usage", message=message, next_step=next_step)
