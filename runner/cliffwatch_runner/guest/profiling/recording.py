"""A boot that perf records: input for the guest's agent, and names of the output files."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_runner.guest.profiling.host_counters import HostCounters

PROFILE = "profile"
"""File in the agent's input: a line per case, name <tab> milliseconds after which recording begins."""

PROFILE_KINDS = ("perf", "perf.err", "counters", "event")
"""Suffixes of the agent's files for a case: perf's report, its errors, the counters, the sampled event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """How perf records the cases of a boot."""

    warmups: Mapping[str, int]
    """Seconds before recording begins, by name of the case."""

    host: HostCounters
    """Counts the emulator's process meanwhile."""

    def put_into(self, folder: Path) -> None:
        lines = (f"{name}\t{seconds * 1000}\n" for name, seconds in self.warmups.items())
        (folder / PROFILE).write_text("".join(lines))


@contextmanager
def end_counters(recording: Recording | None) -> Iterator[None]:
    """Ends the host's counters with the guest, however that ends."""
    try:
        yield
    finally:
        if recording is not None:
            recording.host.end()
