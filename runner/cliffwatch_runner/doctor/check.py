"""One item that the doctor looked at."""

from dataclasses import dataclass
from typing import Literal

Group = Literal["build", "boot", "walltime"]
Status = Literal["ok", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was found, why it matters and how to mend it.

    `fail` makes the host unfit for what `group` is needed for; `warn` does not; `skip` is an item that nobody asked for.
    `mend` are command lines, or a sentence where no command can do it; never empty for `warn` and `fail`.
    `name` is the item's heading in docs/host.md.
    """

    name: str
    group: Group
    status: Status
    found: str
    why: str
    mend: tuple[str, ...] = ()
