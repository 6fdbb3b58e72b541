"""Measures suite after suite on all releases, and with each one's own bench where the shared one fails."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.failure import Failure
from cliffwatch.formats.releases_record import ReleasesRecord, SuiteFailureRecord, SuiteRunRecord
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.reports.several.releases.folder import RECORD, read_suite_run, unmeasured_cases
from cliffwatch.samples import Profile
from cliffwatch_runner import clock
from cliffwatch_runner.command.releases.trees import REPOSITORY
from cliffwatch_runner.plan.arguments import patterns_by_suite
from cliffwatch_runner.plan.arms import ArmRequest
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.results.files import set_aside, write_document
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.run import FinishedRun, run

RUNS = "runs"


def patterns_of(
    patterns: tuple[str, ...], names: Sequence[str], profile: Profile
) -> Mapping[str, tuple[str, ...]]:
    """Returns the suites that have a case of the patterns, each with its own; all suites if there are none.

    A pattern that matches no known case may name a BPF object, which only a tree has.
    """
    if not patterns:
        return dict.fromkeys(names, ())
    suites = [suite for suite in load_catalogue().suites if suite.name in names]
    known = patterns_by_suite(patterns, (case.key for suite in suites for case in suite.cases(profile)))
    unknown = tuple(each for each in patterns if not any(each in found for found in known.values()))
    objects = {suite.name for suite in suites if suite.program is not None and suite.program.objects}
    of_suites = {name: (*known.get(name, ()), *(unknown if name in objects else ())) for name in names}
    return {name: found for name, found in of_suites.items() if found}


@dataclass(slots=True, kw_only=True)
class ReleasesRun:
    """An audit under way. `record` grows, and is written after each run."""

    folder: Path
    record: ReleasesRecord
    request: RunRequest
    """What all runs share; `arms`, `compares`, `suites`, `bench_from`, `cases` and `out` are set for each."""
    progress: Progress
    stop: threading.Event
    failed: list[Failure]
    """Why suites could not be measured."""

    def measure(self) -> None:
        """Measures what is not done. Ends early if `stop` is set."""
        self._drop_damaged()
        for number, suite in enumerate(self.record.suites, 1):
            if self.stop.is_set():
                return
            self.progress.note(f"suite {suite}, {number} of {len(self.record.suites)}")
            self._measure_suite(suite)

    def _drop_damaged(self) -> None:
        """Forgets runs that cannot be read whole, so that they are measured again, and writes the record."""
        kept: list[SuiteRunRecord] = []
        for about in self.record.runs:
            run = read_suite_run(self.folder, about)
            if isinstance(run, Failure):
                self.progress.note(f"{about.suite} is measured again: {run.message}")
                set_aside(self.folder / about.folder)
            else:
                kept.append(about)
        self._write(msgspec.structs.replace(self.record, runs=tuple(kept)))

    def _measure_suite(self, suite: str) -> None:
        names = [release.name for release in self.record.releases]
        shared = self._run_shared(suite, names)
        if shared is None or shared.record.bench is None:
            return  # nothing of the tree's is measured with: an own bench would change nothing
        bench = shared.record.bench.from_
        for name in names:
            missing = () if name == bench else unmeasured_cases(shared.arms.get(name))
            if missing and not self.stop.is_set():
                self._run(suite, [name], name, own=True, cases=tuple(map(str, missing)))

    def _run_shared(self, suite: str, names: Sequence[str]) -> Run | None:
        """Runs a suite on all releases with one bench: the asked one, or the next older one that has it."""
        patterns = patterns_of(self.request.cases, self.record.suites, self.request.profile)
        first = self.request.bench_from
        older = names[: names.index(first)] if first in names and self._is_of_bench(suite) else ()
        for bench in (first, *reversed(older)):
            shared = self._run(suite, names, bench, own=False, cases=patterns[suite])
            if isinstance(shared, Run):
                return shared
            if self.stop.is_set() or any(failure.whose != "usage" for failure in shared):
                return None  # a kernel or this host failed, which no other bench changes
        return None

    def _is_of_bench(self, suite: str) -> bool:
        return all(each.program is None for each in load_catalogue().suites if each.name == suite)

    def _run(
        self, suite: str, arms: Sequence[str], bench: str, *, own: bool, cases: tuple[str, ...]
    ) -> Run | tuple[Failure, ...]:
        """Carries out a run, unless it was completed before. Empty if it was interrupted."""
        name = f"{suite}.{bench}" if own else suite
        folder = self.folder / RUNS / name
        known = next((each for each in self.record.runs if each.folder == f"{RUNS}/{name}"), None)
        if known is None:
            began = clock.monotonic()
            ended = run(self._request(suite, arms, bench, cases, folder), self.progress, self.stop)
            if isinstance(ended, tuple):
                if not self.stop.is_set():
                    self._note_failures(suite, bench, ended)
                return ended
            if ended.interrupted:
                return ()
            self._note_run(ended, suite, bench, own=own, seconds=clock.monotonic() - began)
        read = read_run(folder)
        return (read,) if isinstance(read, Failure) else read

    def _request(
        self, suite: str, arms: Sequence[str], bench: str, cases: tuple[str, ...], folder: Path
    ) -> RunRequest:
        return replace(
            self.request,
            tree=str(self.folder / REPOSITORY),
            suites=(suite,),
            arms=tuple(ArmRequest(name=name, rev=f"refs/heads/{name}") for name in arms),
            compares=len(arms) > 1,
            bench_from=bench,
            cases=cases,
            out=folder,
            cpus=self._choose_cpus(suite),
        )

    def _choose_cpus(self, suite: str) -> int | None:
        """The CPUs of the guests: the asked ones, or more where every case of a suite needs them."""
        cases = [
            case
            for each in load_catalogue().suites
            if each.name == suite
            for case in each.cases(self.request.profile)
        ]
        needed = min((case.guest.cpus or case.min_cpus for case in cases), default=1)
        return needed if needed > (self.request.cpus or 1) else self.request.cpus

    def _note_run(self, ended: FinishedRun, suite: str, bench: str, *, own: bool, seconds: float) -> None:
        read = read_run(ended.folder)
        used = None if isinstance(read, Failure) or read.record.bench is None else read.record.bench.from_
        about = SuiteRunRecord(
            suite=suite,
            folder=f"{RUNS}/{ended.folder.name}",
            bench=used or bench,
            own=own,
            seconds=round(seconds, 1),
        )
        failures = tuple(
            each
            for each in self.record.failures
            if each.suite != suite or (own and each.bench != bench)  # a shared run supersedes all
        )
        self._write(msgspec.structs.replace(self.record, runs=(*self.record.runs, about), failures=failures))

    def _note_failures(self, suite: str, bench: str, failures: Sequence[Failure]) -> None:
        kept = tuple(each for each in self.record.failures if (each.suite, each.bench) != (suite, bench))
        added = tuple(
            SuiteFailureRecord(
                suite=suite,
                bench=bench,
                message=each.message,
                next_step=each.next_step,
                evidence=each.evidence[-4000:],
            )
            for each in failures
        )
        self.failed += failures
        for each in failures:
            self.progress.note(f"{suite}, with the bench of {bench}: {each.message}")
        self._write(msgspec.structs.replace(self.record, failures=(*kept, *added)))

    def _write(self, record: ReleasesRecord) -> None:
        self.record = record
        write_document(self.folder / RECORD, record)
