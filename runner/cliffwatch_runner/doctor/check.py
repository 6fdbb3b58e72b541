"""One check of the doctor."""

from dataclasses import dataclass
from typing import Literal

Group = Literal["build", "boot", "walltime"]
Status = Literal["ok", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A finding, why it matters and how to fix it."""

    name: str
    """Heading of the check in docs/host.md."""

    group: Group
    """What the host needs the check for."""

    status: Status
    """`fail` makes the host unfit for the group, `warn` does not; `skip`: the check was not requested."""

    finding: str
    why: str
    fixes: tuple[str, ...] = ()
    """Command lines, or a sentence if no command can fix it. Never empty for `warn` and `fail`."""

    def document(self) -> dict[str, object]:
        """The check as JSON."""
        return {
            "name": self.name,
            "group": self.group,
            "status": self.status,
            "finding": self.finding,
            "why": self.why,
            "fixes": list(self.fixes),
        }
