"""A host that answers every job of a branch at once, from made-up levels of its commits."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from service_running import Running
from service_runs import MadeRun, put_all, record_digest, run_of, run_of_cases, with_anchor

NAMES = {"emulated-x86-64": "emulator-1", "amd-rome": "rome-1", "intel-skylake": "skylake-1"}


@dataclass
class StandInHost:
    """`levels` says how much slower each case is at a commit, as fractions; commits of `broken` do not build.

    `jobs` are what it measured: base, head and mode. In walltime every arm has `boots`, or as many as a
    job asks for where that is None.
    """

    running: Running
    levels: Callable[[str], Mapping[int, float]]
    platform: str = "emulated-x86-64"
    modes: tuple[str, ...] = ("icount",)
    cases: int = 3
    spread: float = 0.0
    boots: int | None = 8
    broken: frozenset[str] = frozenset()
    hung: frozenset[str] = frozenset()
    jobs: list[tuple[str, str, str]] = field(default_factory=list)
    measured: int = 0

    @property
    def name(self) -> str:
        return NAMES[self.platform]

    def take(self) -> dict[str, Any] | None:
        """The next job of the queue, leased."""
        token = f"of {self.name}"
        self.running.token(token, "work", host=self.name)
        body = {
            "host": self.name,
            "platform": self.platform,
            "modes": list(self.modes),
            "isolation": "bubblewrap",
            "setups": True,
        }
        with self.running.http(token) as http:
            answer = http.post("/api/v1/offers", json=body).raise_for_status()
        return None if answer.status_code == 204 else answer.json()

    def do(self, work: dict[str, Any]) -> None:
        """Measures a job, or says why it cannot."""
        self.jobs.append((work["base"], work["head"], work["mode"]))
        with self.running.http(f"of {self.name}") as http:
            if {work["base"], work["head"]} & self.broken:
                end = {"outcome": "kernel-failed", "reason": "the kernel does not build"}
            elif {work["base"], work["head"]} & self.hung:
                end = {"outcome": "kernel-failed", "reason": "no boot came up"}
            else:
                run = self.run(work)
                put_all(http, run, job=work["job"])
                end = {"outcome": "done", "run": run.digest}
            http.post(f"/api/v1/leases/{work['lease']}/complete", json=end).raise_for_status()

    def run(self, work: dict[str, Any]) -> MadeRun:
        # Not of the job's identity, which is drawn anew each time: the same test measures the same noise.
        what = f"{work['base']} {work['head']} {work['mode']} {self.name} {self.measured}"
        seed = int(hashlib.sha256(what.encode()).hexdigest()[:8], 16)
        self.measured += 1
        made = run_of(
            boots=2 if work["mode"] == "icount" else self.boots or int(work["boots"]),
            cases=self.cases,
            mode=work["mode"],
            platform=self.platform,
            host=self.name,
            seed=seed,
            spread=self.spread,
            created=self.running.clock.now().isoformat(),
        )
        made.record["tree"] = work["tree"]
        made.record["plan"]["seed"] = work["seed"]
        made.record["identity"] = f"{seed:08x}" * 4
        setup = work["setup"] or {}
        anchor = [arm["rev"] for arm in setup.get("arms", []) if arm["name"] == "anchor"]
        made = with_anchor(made, "anchor") if anchor else made
        for index, commit in enumerate((work["base"], work["head"], *anchor)):
            facts = made.record["arms"][index]["facts"]
            facts.update(
                commit=commit, tree=commit[::-1], kernel=commit[:32], subject="bpf: measured", parents=[]
            )
            made.record["arms"][index]["label"] = commit[:12]
            for case, level in self.levels(commit).items():
                if case >= self.cases:
                    continue
                made.logs[index, :, case] += np.log1p(level)
        if setup.get("only_affected"):
            base, head = (self.levels(work[name]) for name in ("base", "head"))
            touched = [case for case in range(self.cases) if base.get(case) != head.get(case)]
            made = run_of_cases(made, touched, "unchanged-build", "it executes nothing that differs")
        return replace(made, digest=record_digest(made.record, self.name))

    def work_off(self, most: int = 1000) -> int:
        """Jobs and tasks until nothing is left; how many jobs."""
        done = 0
        self.running.do_tasks()
        while done < most and (work := self.take()) is not None:
            self.do(work)
            self.running.do_tasks()
            done += 1
        return done
