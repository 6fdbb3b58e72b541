"""A bisection in walltime: boots per step for an error that is stated, over values with noise. No guest is
booted.
"""

import random
from pathlib import Path
from types import SimpleNamespace

import pytest
from toy import request

from cliffwatch.comparing.compare_run import Sides
from cliffwatch.samples import Arm, Boot, CaseKey, Sample
from cliffwatch.stats.history.culprits.boots import boots_per_step, error_of
from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch.stats.history.culprits.question import Pair
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.run.bisection import bisecting, pairs
from cliffwatch_runner.run.bisection.commits import History
from cliffwatch_runner.run.bisection.pairs import PairRuns, Rows
from cliffwatch_runner.run.bisection.step import compare_primary_rows

CASE = CaseKey("local-storage", "local-storage-cache-seq-get", (("nr_maps", "16"),))
SPREAD = 0.02
COMMITS = 64
CULPRIT = 37


class NoisyHost:
    """Stands for TimedPairs: from CULPRIT on it is 4 % slower, and each boot is off by 2 %."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.per_step: int | None = None
        self.boots: list[int] = []

    def arm(self, name: str, commit: str, boots: int) -> Arm:
        centre = 208.0 if int(commit) >= CULPRIT else 200.0
        return Arm(
            name=name,
            label=name,
            mode="walltime",
            platform="amd-rome",
            boots=[
                Boot(
                    index=index,
                    block=index,
                    samples=(
                        Sample(CASE, "hits-latency", "ns/op", self.draw.gauss(centre, SPREAD * centre)),
                    ),
                )
                for index in range(1, boots + 1)
            ],
        )

    def compare(self, pair: Pair) -> Rows:
        boots = self.per_step or 40
        self.boots.append(boots)
        rows = compare_primary_rows(
            Sides(
                base=self.arm("base", pair.base, boots), head=self.arm("head", pair.head, boots), one_run=True
            )
        )
        assert isinstance(rows, tuple)
        return rows


def bisected(
    seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[bisecting.Bisected, NoisyHost]:
    host = NoisyHost(seed)
    monkeypatch.setattr(bisecting, "TimedPairs", lambda runs, boots: host)
    parents = {str(number): (str(number - 1),) for number in range(COMMITS, 0, -1)}
    between = tuple(parents)
    history = History(graph=Graph({**parents, "0": ()}), good="0", bad=str(COMMITS), between=between)
    order = bisecting.Order(
        request=request(folder, folder, mode="walltime", boots=None),
        modes=("walltime",),
        history=history,
        sought="regression",
        record=None,
        report_step=lambda pair, rows: None,
        report_marks=lambda marks: None,
    )
    ended = bisecting._Bisection(
        order, PairRuns(order.request, "0", None, None, None), "walltime"
    ).carried_out()
    assert isinstance(ended, bisecting.Bisected)
    return ended, host


def test_it_is_right_as_often_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most one in twenty goes the wrong way, and no step has more boots than that takes."""
    right = 0
    for seed in range(40):
        ended, host = bisected(seed, tmp_path, monkeypatch)
        assert ended.found is not None
        assert ended.stated is not None
        assert ended.stated.error <= bisecting.ERROR
        assert ended.stated.steps == 6
        assert 5 <= ended.stated.boots < 100
        assert set(host.boots[1:]) == {ended.stated.boots}
        assert len(host.boots) <= 8
        right += any(step.commits == (str(CULPRIT),) for step in ended.found.steps)

    assert right >= 37


@pytest.mark.parametrize(
    ("mode", "boots", "config", "layouts"),
    [
        ("walltime", 21, "", 21),
        ("walltime", 21, "CONFIG_LTO_CLANG_THIN=y\n", None),
        ("walltime", 21, "CONFIG_ARCH_SUPPORTS_LTO_CLANG=y\nCONFIG_LTO_NONE=y\n", 21),
        ("walltime", None, "", None),
        ("icount", 2, "", None),
    ],
)
def test_each_boot_of_a_step_has_its_own_layout_where_kernels_can_be_linked_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    boots: int | None,
    config: str,
    layouts: int | None,
) -> None:
    asked: list[int | None] = []

    def note(wanted: RunRequest, *_: object, **__: object) -> None:
        asked.append(wanted.layouts)
        raise Stopped

    monkeypatch.setattr(pairs, "carry_out", note)
    (tmp_path / "fragment").write_text(config)
    record = SimpleNamespace(folder=tmp_path, skipped={})
    runs = PairRuns(
        request(tmp_path, tmp_path, mode=mode, fragments=(tmp_path / "fragment",)), "0", record, None, None
    )
    runs.run(Pair("0", "1"), boots)

    assert asked == [layouts]


@pytest.mark.parametrize("change", [0.01, 0.04])
def test_boots_are_the_fewest_for_the_error(change: float) -> None:
    boots = boots_per_step(change, 0.005, 0.05, 8)

    assert error_of(change, 0.005, boots, 8) <= 0.05
    assert boots == 5 or error_of(change, 0.005, boots - 1, 8) > 0.05
    assert boots_per_step(change, 0.005, 0.05, 12) >= boots


def test_what_no_number_of_boots_decides_says_so() -> None:
    boots = boots_per_step(0.001, 0.05, 0.05, 8)

    assert error_of(0.001, 0.05, boots, 8) > 0.05
