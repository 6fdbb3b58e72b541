"""A distribution's own kernel, from its package, is measured with a bench of ours; nothing is built.

The package is that of CLIFFWATCH_PREBUILT_PACKAGE, or the only one in ~/.cache/cliffwatch/prebuilt:
`apt-get download linux-image-6.12.117+deb12-amd64` there (any release that `apt-cache search linux-image-6.12` lists, not a
`cloud` one). The bench is one that the demo left in the user's cache.
"""

import json
import os
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch_runner.build.cache.uses import cache_uses
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.kernel_config import FORBIDDEN
from cliffwatch_runner.build.prebuilt import prebuilt_kernel
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.command.cache_folder import default_cache
from cliffwatch_runner.guest.argv import GuestShape, guest_argv
from cliffwatch_runner.guest.boot import BootEnd
from cliffwatch_runner.host.programs import guest_programs
from cliffwatch_runner.plan.plan import PlannedBoot, make_plan
from cliffwatch_runner.plan.selection import select_cases
from cliffwatch_runner.run.measure import GuestSettings, PlanExecution, measure
from cliffwatch_runner.sandbox.isolation import choose_guest_sandbox, choose_sandbox
from cliffwatch_runner.sandbox.limits import host_limits
from cliffwatch_runner.sandbox.sandbox import Sandbox

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(3600)]

SHAPE = GuestShape(mode="icount", cpus=1, memory_mib=2048)
BOOTS = 2

REPEATABILITY = 0.0005
"""Of equal kernels in local-storage's benchmarks (docs/suites.md)."""


@pytest.fixture(scope="module")
def package() -> Path:
    named = os.environ.get("CLIFFWATCH_PREBUILT_PACKAGE")
    found = [Path(named)] if named else sorted((default_cache() / "prebuilt").glob("linux-image-*.deb"))
    if len(found) != 1:
        pytest.skip(
            "there is no package of a distribution's kernel: `apt-get download linux-image-RELEASE` in ~/.cache/cliffwatch/prebuilt"
        )
    return found[0]


@pytest.fixture(scope="module")
def bench() -> Path:
    for folder in sorted((default_cache() / "benches").glob("*/bench")):
        record = json.loads((folder.parent / "bench.json").read_text())
        if record["release"].startswith("6.12") and "local-storage-cache-seq-get" in record["offered"]:
            return folder.parent
    pytest.skip("the user's cache has no bench of linux 6.12: `make demo` builds one")


class Silent:
    def boot_begins(self, boot: PlannedBoot) -> None: ...
    def case_begins(self, boot: PlannedBoot, case: str) -> None: ...
    def boot_ends(self, boot: PlannedBoot, end: BootEnd | None) -> None: ...


@pytest.fixture(scope="module")
def boots(package: Path, bench: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The documents of each boot, by their names."""
    out = tmp_path_factory.mktemp("prebuilt") / "results"
    suites = tuple(suite for suite in load_catalogue().suites if suite.name == "local-storage")
    selection = select_cases(suites, "smoke", offered=None, release=(6, 12), cpus=1, memory_mib=None)
    plan = make_plan(selection.cases, arms=("head",), boots=BOOTS, seed=1, notable=None)
    with cache_uses() as uses:
        settings = BuildSettings(
            cache=default_cache(),
            sandbox=isolated(choose_sandbox("auto", None)),
            limits=host_limits(1800.0),
            trust="local",
            jobs=1,
            report_progress=lambda share, what: None,
            should_stop=lambda: False,
            uses=uses,
        )
        kernel = prebuilt_kernel(package, settings)
        assert isinstance(kernel, Kernel), kernel
        sandbox = isolated(choose_guest_sandbox("auto"))
        guest = GuestSettings(
            programs=(bench / "bench", bench / "fixed_seed.so"),
            shape=SHAPE,
            forbidden=FORBIDDEN,
            sandbox=sandbox,
            argv=partial(guest_argv, sandbox=sandbox, programs=guest_programs(), shape=SHAPE, cpus=()),
            hang_after=1800.0,
        )
        failure = measure(PlanExecution(plan, guest, out, Silent(), threading.Event()), {"head": kernel}, at_once=2)
    assert failure is None, failure
    names = ("boot", "environment", "samples")
    return [
        {name: json.loads((folder / f"{name}.json").read_text()) for name in names}
        for folder in sorted((out / "boots").iterdir())
    ]


def isolated(sandbox: object) -> Sandbox:
    assert isinstance(sandbox, Sandbox), sandbox
    return sandbox


def test_it_boots_and_every_case_is_measured(boots: list[dict[str, Any]]) -> None:
    assert [boot["boot"]["status"] for boot in boots] == ["complete"] * BOOTS
    for boot in boots:
        assert {outcome["status"] for outcome in boot["samples"]["outcomes"]} == {"ok"}
        assert boot["boot"]["parts"][0]["unexpected_files"] == []


def test_its_guest_is_the_same_as_those_of_our_own_kernels(boots: list[dict[str, Any]]) -> None:
    environment = boots[0]["environment"]

    assert environment["root_file_system"] == "9p"
    assert environment["bpf_jit_enable"] == "1"
    assert environment["cpus"] == SHAPE.cpus


def test_its_configuration_comes_from_the_package(boots: list[dict[str, Any]]) -> None:
    environment = boots[0]["environment"]

    assert environment["config_from"] == "package"
    assert environment["config_sha256"] is not None


def test_it_repeats_as_our_own_kernels_do(boots: list[dict[str, Any]]) -> None:
    first, second = (
        {
            json.dumps([sample["benchmark"], sample["params"]]): sample["value"]
            for sample in boot["samples"]["samples"]
            if sample["metric"] == "hits-latency"
        }
        for boot in boots
    )

    assert first.keys() == second.keys()
    assert len(first) >= 7
    assert {case: abs(second[case] / value - 1) < REPEATABILITY for case, value in first.items()} == dict.fromkeys(
        first, True
    )
