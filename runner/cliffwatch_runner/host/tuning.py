"""Tunes a host while a walltime run measures, and restores it afterwards."""

import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner.host.facts import read_word
from cliffwatch_runner.host.journal import (
    JOURNAL,
    Journal,
    JournalEntry,
    Services,
    Systemctl,
    read_journal,
    restore_from_journal,
    write_journal,
)
from cliffwatch_runner.host.knobs import (
    LATENCY_DEVICE,
    SEE_DOCTOR,
    Knob,
    TuningPlan,
    is_same_value,
    write_value,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobOutcome:
    """The outcome for one knob."""

    name: str
    target: str
    state: Literal["changed", "already", "skipped", "refused"]
    """`already`: it had an acceptable value.

    `skipped`: this host has no such knob. `refused`: it could not be set.
    """

    before: str | None
    """Content of the file before; None if it was unreadable."""

    after: str | None
    """Content of the file afterwards; None if it was unreadable."""

    reason: str = ""
    """Why the knob was refused or skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningOutcome:
    """The outcomes of tuning a host."""

    outcomes: tuple[KnobOutcome, ...]

    @property
    def refused(self) -> tuple[KnobOutcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.state == "refused")

    def facts(self) -> list[dict[str, object]]:
        """Returns the outcomes for the environment record.

        Equal outcomes are merged, and `places` counts them.
        """
        counted = Counter((o.name, o.state, o.before, o.after, o.reason) for o in self.outcomes)
        keys = ("name", "state", "before", "after", "reason")
        return [{**dict(zip(keys, facts, strict=True)), "places": count} for facts, count in counted.items()]


@contextmanager
def tune_host(
    plan: TuningPlan,
    *,
    report: Callable[[str], None],
    root: Path = Path("/"),
    journal: Path = JOURNAL,
    services: Services | None = None,
) -> Iterator[TuningOutcome]:
    """Tunes the host while the block runs. The caller must hold the exclusive host lock.

    First restores the changes of a killed run. Old values are in the journal, on disk, before the first
    change. A knob that is missing or cannot be set does not end the run: the outcomes say so. `report` gets
    sentences for the operator, also about values that could not be restored.
    """
    control = services if services is not None else Systemctl()
    _report_all(report, restore_from_journal(journal, root, control))
    entries, settled = _find_changes(plan, root, control)
    hindrance = _journal_hindrance(journal, root, entries)
    if hindrance is not None:
        tuned = TuningOutcome(
            outcomes=(*settled, *(_refused_outcome(entry, hindrance) for entry, _ in entries))
        )
        _report_refused(report, tuned)
        yield tuned
        return
    try:
        applied = [_apply_knob(entry, knob, root, control) for entry, knob in entries]
        with _idle_latency(plan.idle_latency_us, root) as idle:
            tuned = TuningOutcome(outcomes=(*settled, *applied, *idle))
            _report_refused(report, tuned)
            yield tuned
    finally:
        _report_all(report, restore_from_journal(journal, root, control))


def _journal_hindrance(
    journal: Path, root: Path, entries: list[tuple[JournalEntry, Knob | None]]
) -> Failure | None:
    """Writes the old values to the journal. After a failure, change nothing.

    If a killed run changed a value that could not be restored, its old value from that run is kept.
    """
    left = read_journal(journal)
    if isinstance(left, Failure):
        return replace(left, message=f"the journal {journal} of an earlier run is in the way: {left.message}")
    kept = {entry.target: entry for entry in left.entries} if isinstance(left, Journal) else {}
    ours = [kept.pop(entry.target, entry) for entry, _ in entries]
    if not ours:
        return None
    try:
        write_journal(journal, root, [*kept.values(), *ours])
    except OSError as error:
        return host_failed(f"old values could not be kept in {journal}: {error.strerror}", SEE_DOCTOR)
    return None


def _find_changes(
    plan: TuningPlan, root: Path, services: Services
) -> tuple[list[tuple[JournalEntry, Knob | None]], list[KnobOutcome]]:
    """Returns the changes to make with their old values, and the outcomes of knobs that need no change."""
    entries: list[tuple[JournalEntry, Knob | None]] = []
    settled: list[KnobOutcome] = []
    for service in plan.services:
        if services.active(service):
            entries.append((JournalEntry(name=service, target=service, old="active", form="service"), None))
            continue
        settled.append(
            KnobOutcome(name=service, target=service, state="already", before="inactive", after="inactive")
        )
    for knob in plan.knobs:
        value = read_word(root / knob.path)
        if value is None:
            settled.append(_outcome(knob, "skipped", None, None, "this host has no such knob"))
        elif knob.is_set(value):
            settled.append(_outcome(knob, "already", value, value))
        else:
            entries.append((JournalEntry(name=knob.name, target=knob.path, old=value, form=knob.form), knob))
    return entries, settled


def _apply_knob(entry: JournalEntry, knob: Knob | None, root: Path, services: Services) -> KnobOutcome:
    if knob is None:
        failure = services.stop(entry.target)
        if failure is not None:
            return _refused_outcome(entry, failure)
        return KnobOutcome(
            name=entry.name, target=entry.target, state="changed", before="active", after="inactive"
        )
    path = root / knob.path
    if read_word(path) is None:
        # Switching SMT off removes CPUs, and their files with them.
        return _outcome(knob, "skipped", entry.old, None, "its CPU is offline")
    failure = write_value(path, knob.wanted)
    after = read_word(path)
    if failure is None and after is not None and is_same_value(after, knob.wanted, knob.form):
        return _outcome(knob, "changed", entry.old, after)
    reason = f"it accepted {knob.wanted} but reads {after}" if failure is None else failure.message
    return _outcome(knob, "refused", entry.old, after, reason)


@contextmanager
def _idle_latency(microseconds: int | None, root: Path) -> Iterator[list[KnobOutcome]]:
    """Keeps CPUs out of idle states with a longer wake-up, while the device is open.

    The kernel restores by itself.
    """
    if microseconds is None:
        yield []
        return
    name, device = "c-states", root / LATENCY_DEVICE
    try:
        descriptor = os.open(device, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield [
            KnobOutcome(
                name=name,
                target=LATENCY_DEVICE,
                state="skipped",
                before=None,
                after=None,
                reason="no such device",
            )
        ]
        return
    except OSError as error:
        reason = error.strerror or str(error)
        yield [
            KnobOutcome(
                name=name, target=LATENCY_DEVICE, state="refused", before=None, after=None, reason=reason
            )
        ]
        return
    try:
        os.write(descriptor, struct.pack("=i", microseconds))
        yield [
            KnobOutcome(
                name=name, target=LATENCY_DEVICE, state="changed", before=None, after=f"{microseconds} us"
            )
        ]
    finally:
        os.close(descriptor)


def _outcome(
    knob: Knob,
    state: Literal["changed", "already", "skipped", "refused"],
    before: str | None,
    after: str | None,
    reason: str = "",
) -> KnobOutcome:
    return KnobOutcome(
        name=knob.name, target=knob.path, state=state, before=before, after=after, reason=reason
    )


def _refused_outcome(entry: JournalEntry, failure: Failure) -> KnobOutcome:
    return KnobOutcome(
        name=entry.name,
        target=entry.target,
        state="refused",
        before=entry.old,
        after=entry.old,
        reason=failure.message,
    )


def _report_refused(report: Callable[[str], None], tuned: TuningOutcome) -> None:
    counted = Counter((outcome.name, outcome.reason) for outcome in tuned.refused)
    for (name, reason), count in counted.items():
        files = f" in {count} files" if count > 1 else ""
        report(f"Not tuned{files}: {name}: {reason}. See `cliffwatch doctor --mode walltime`.")


def _report_all(report: Callable[[str], None], sentences: tuple[str, ...]) -> None:
    for sentence in sentences:
        report(sentence)
