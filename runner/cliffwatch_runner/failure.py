"""Expected failures, as values."""

from dataclasses import dataclass
from typing import Literal

from cliffwatch.exits import Exit

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
