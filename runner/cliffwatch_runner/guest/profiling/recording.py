"""A boot in which perf records: what the guest's agent is given for it, and what comes back."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_runner.guest.profiling.host_counters import HostCounters

PROFILE = "profile"
"""In the agent's input: a line a case, name <tab> milliseconds after which recording begins."""

PROFILE_KINDS = ("perf", "perf.err", "counters", "event")
"""Files of a case that the agent writes beside its output: the report, what perf complained of, counters, and
what was sampled.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """`warmups` are seconds by the name of the case; `host` counts what the emulator's process does
    meanwhile.
    """

    warmups: Mapping[str, int]
    host: HostCounters

    def put_into(self, folder: Path) -> None:
        lines = (f"{name}\t{seconds * 1000}\n" for name, seconds in self.warmups.items())
        (folder / PROFILE).write_text("".join(lines))


@contextmanager
def end_counters(recording: Recording | None) -> Iterator[None]:
    """What counts on the host ends with the guest, however that ends."""
    try:
        yield
    finally:
        if recording is not None:
            recording.host.end()
