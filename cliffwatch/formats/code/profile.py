"""profile.json of a run: where the time of the cases that changed goes, by perf, in boots whose values are
not kept.
"""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.values import MOST_ARMS, MOST_SAMPLES, Name, Number, OfCase, Part, Share, Text

MOST_PROFILED = 60
"""Functions of a case."""

MOST_COUNTERS = 40

Samples = Annotated[int, Meta(ge=0, le=2**53)]


class ProfiledFunction(Part, frozen=True, kw_only=True):
    """A function's share of the samples. `object` is what it lies in: `kernel`, `bpf` (code that the JIT
    made), or a program or library by its file's name.
    """

    name: Name
    object: Name
    share: Share
    samples: Samples


class CounterRecord(Part, frozen=True, kw_only=True):
    """An event of perf stat, by perf's name. `value` is null where this machine does not count it; `running`
    is the share of the time in which it was counted: where that is below 1 perf scaled the value up.
    """

    event: Name
    value: Annotated[Number, Meta(ge=0)] | None
    unit: Annotated[str, Meta(max_length=40)] = ""
    running: Share = 1.0


class CaseProfile(OfCase, frozen=True, kw_only=True):
    """A case of an arm, from the end of its warm-up on. `event` is what was sampled: `cycles`, or `cpu-clock`
    in a guest without counters; functions stand with most samples first. `guest` counted within the guest,
    `host` on the emulator's process. `problems` say what could not be recorded, and why.
    """

    arm: Name
    event: Annotated[str, Meta(max_length=40)]
    functions: Annotated[tuple[ProfiledFunction, ...], Meta(max_length=MOST_PROFILED)]
    guest: Annotated[tuple[CounterRecord, ...], Meta(max_length=MOST_COUNTERS)]
    host: Annotated[tuple[CounterRecord, ...], Meta(max_length=MOST_COUNTERS)]
    problems: Annotated[tuple[Text, ...], Meta(max_length=10)] = ()


class ProfileRecord(Part, frozen=True, kw_only=True):
    """profile.json. `left_out` counts cases that changed too and were not profiled."""

    format: Literal["cliffwatch-profile"] = "cliffwatch-profile"
    format_version: Literal[1] = 1
    cases: Annotated[tuple[CaseProfile, ...], Meta(max_length=MOST_SAMPLES * MOST_ARMS)]
    left_out: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
