"""profile.json of a run: perf profiles of the cases that changed, from boots whose values are discarded."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.values import MOST_ARMS, MOST_SAMPLES, Name, Number, OfCase, Part, Share, Text

MOST_PROFILED = 60
"""The most functions of a case."""

MOST_COUNTERS = 40

Samples = Annotated[int, Meta(ge=0, le=2**53)]


class ProfiledFunction(Part, frozen=True, kw_only=True):
    """A function's share of the samples.

    `object` contains the function: `kernel`, `bpf` (JIT code), or the file name of a program or library.
    """

    name: Name
    object: Name
    share: Share
    samples: Samples


class CounterRecord(Part, frozen=True, kw_only=True):
    """An event of perf stat, by perf's name.

    `value` is null if this machine does not count the event. `running` is the fraction of time in which it
    was counted; below 1, perf scaled the value up.
    """

    event: Name
    value: Annotated[Number, Meta(ge=0)] | None
    unit: Annotated[str, Meta(max_length=40)] = ""
    running: Share = 1.0


class CaseProfile(OfCase, frozen=True, kw_only=True):
    """The profile of a case of an arm, from the end of its warm-up.

    `event` is the sampled event: `cycles`, or `cpu-clock` in a guest without counters. `functions` are
    ordered by samples, the most first. The counters of `guest` were counted within the guest, those of `host`
    on the emulator's process. `problems` say what could not be recorded, and why.
    """

    arm: Name
    event: Annotated[str, Meta(max_length=40)]
    functions: Annotated[tuple[ProfiledFunction, ...], Meta(max_length=MOST_PROFILED)]
    guest: Annotated[tuple[CounterRecord, ...], Meta(max_length=MOST_COUNTERS)]
    host: Annotated[tuple[CounterRecord, ...], Meta(max_length=MOST_COUNTERS)]
    problems: Annotated[tuple[Text, ...], Meta(max_length=10)] = ()


class ProfileRecord(Part, frozen=True, kw_only=True):
    """profile.json. `left_out` is the number of changed cases that were not profiled."""

    format: Literal["cliffwatch-profile"] = "cliffwatch-profile"
    format_version: Literal[1] = 1
    cases: Annotated[tuple[CaseProfile, ...], Meta(max_length=MOST_SAMPLES * MOST_ARMS)]
    left_out: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
