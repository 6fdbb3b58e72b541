"""The options of `cliffwatch releases`."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.samples import Profile
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.command.options.measuring import make_request
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.sandbox.isolation import IsolationChoice

NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of `cliffwatch releases`."""

    trees: tuple[str, ...]
    suites: tuple[str, ...]
    cases: tuple[str, ...]
    profile: Profile
    boots: int | None
    out: Path
    cache: Path
    cache_size: int
    bench_from: str
    fragments: tuple[Path, ...]
    tools: ToolChoice
    jobs: int
    isolation: IsolationChoice
    cpus: int | None

    def settings(self) -> dict[str, object]:
        """What decides the measurements, besides releases, suites and profile. Raises OSError."""
        tools = {name: getattr(self.tools, name) for name in ("cc", "clang", "pahole", "build_image")}
        return {
            "bench_from": self.bench_from,
            "boots": self.boots,
            "cases": list(self.cases),
            "config": [
                {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
                for path in self.fragments
            ],
            **{name: value for name, value in tools.items() if value is not None},
            **({} if self.cpus is None else {"cpus": self.cpus}),
        }

    def request(self) -> RunRequest:
        """What all runs share."""
        return make_request(
            tree="",
            base=None,
            head=None,
            patch=None,
            suites=(),
            profile=self.profile,
            mode="icount",
            boots=self.boots,
            cpus=self.cpus,
            cache=self.cache,
            cache_size=self.cache_size,
            tools=self.tools,
            fragments=self.fragments,
            jobs=self.jobs,
            isolation=self.isolation,
            cases=self.cases,
            releases=True,
        )
