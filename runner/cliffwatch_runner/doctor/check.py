"""One item that the doctor looked at."""

from dataclasses import dataclass
from typing import Literal

Group = Literal["build", "boot", "walltime"]
Status = Literal["ok", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The finding, why it matters and how to fix it.

    `fail` makes the host unfit for what `group` is needed for; `warn` does not; `skip` is an item that nobody asked for.
    `fixes` are command lines, or a sentence where no command can do it; never empty for `warn` and `fail`.
    `name` is the item's heading in docs/host.md.
    """

    name: str
    group: Group
    status: Status
    finding: str
    why: str
    fixes: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """The check as JSON has it."""
        return {
            "name": self.name,
            "group": self.group,
            "status": self.status,
            "finding": self.finding,
            "why": self.why,
            "fixes": list(self.fixes),
        }
