"""A revision's platforms side by side: which table is made of what was measured, and what the page says of
it.
"""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from service_running import Running
from service_runs import MadeRun, commit_of, put_all, run_of

from cliffwatch.samples import Mode
from cliffwatch_service.store.history.points import ArmPointRow
from cliffwatch_service.store.run_arms import MeasuredArmRow
from cliffwatch_service.web.compare.platforms import SideBySide, TableChoices, side_by_side

NAMED = ("percpu-traversal", "percpu-batch")
NOTHING = TableChoices("", "", "", {})
ENTRIES, CPUS = ("1000", "10000", "40000"), ("8", "64")


def read(
    platform: str, mode: Mode, factor: float, *, measure: str = "ns/element", **more: tuple[str, ...]
) -> Any:
    """A platform whose values are `factor` for each entry and CPU, in cases of these parameters."""
    values = {"entries": ENTRIES, "possible-cpus": CPUS, "value": ("8",), **more}
    rows = []
    for chosen in product(*values.values()):
        params = dict(zip(values, chosen, strict=True))
        centre = factor * (int(params["entries"]) / 1000 + int(params["possible-cpus"]))
        rows.append(
            ArmPointRow([list(each) for each in params.items()], measure, measure, 7, centre, None, None)
        )
    return platform, mode, MeasuredArmRow(id=1, run="a" * 32), rows


def table(*measured: Any, wishes: TableChoices = NOTHING) -> SideBySide:
    return side_by_side(NAMED, measured, wishes)


def test_the_parameter_with_the_most_values_goes_down_and_the_next_one_across() -> None:
    shown = table(read("amd-rome", "walltime", 1.0), read("intel-skylake", "walltime", 1.25))

    assert (shown.down, shown.across, shown.fixed) == ("entries", "possible-cpus", {})
    assert (shown.rows, shown.columns) == (list(ENTRIES), list(CPUS))
    rome, skylake = shown.blocks
    assert rome.cells["10000", "64"].centre == 74
    assert shown.difference(skylake, ("10000", "64")) == pytest.approx(0.25)
    assert shown.difference(rome, ("10000", "64")) is None


def test_rows_and_columns_are_those_that_are_asked_for() -> None:
    shown = table(read("amd-rome", "walltime", 1.0), wishes=TableChoices("", "possible-cpus", "", {}))
    assert (shown.down, shown.across) == ("possible-cpus", "entries")
    assert (
        table(read("amd-rome", "walltime", 1.0), wishes=TableChoices("", "", "entries", {})).down
        == "possible-cpus"
    )
    assert (
        table(read("amd-rome", "walltime", 1.0), wishes=TableChoices("", "colour", "colour", {})).down
        == "entries"
    )


def test_modes_are_never_set_against_each_other() -> None:
    shown = table(
        read("emulated-x86-64", "icount", 9.0),
        read("amd-rome", "walltime", 1.0),
        read("epyc-2", "walltime", 2.0),
    )

    assert [each.beside for each in shown.blocks] == [None, None, "amd-rome"]
    assert shown.difference(shown.blocks[1], ("1000", "8")) is None
    assert shown.difference(shown.blocks[2], ("1000", "8")) == pytest.approx(1.0)


def test_a_rehearsal_is_never_set_against_hardware() -> None:
    shown = table(
        read("amd-rome", "walltime", 1.0),
        read("rehearsal-amd-rome", "walltime", 20.0),
        read("rehearsal-x86-64", "walltime", 30.0),
    )

    assert [each.beside for each in shown.blocks] == [None, None, "rehearsal-amd-rome"]
    assert shown.difference(shown.blocks[1], ("1000", "8")) is None
    assert shown.difference(shown.blocks[2], ("1000", "8")) == pytest.approx(0.5)


def test_instructions_stand_beside_the_time_that_hardware_has() -> None:
    hardware = read("amd-rome", "walltime", 1.0)
    counting = read("emulated-x86-64", "icount", 9.0, measure="insns/op")
    shown = table(counting, hardware)

    assert [(each.metric, len(each.cells)) for each in shown.blocks] == [("insns/op", 6), ("ns/element", 6)]
    assert shown.metrics == ["ns/element", "insns/op"]


def test_what_says_nothing_of_an_operation_has_no_instructions_beside_it() -> None:
    memory = read("amd-rome", "walltime", 1.0, measure="MiB")
    counting = read("emulated-x86-64", "icount", 9.0, measure="insns/op")

    assert [
        len(each.cells) for each in table(memory, counting, wishes=TableChoices("MiB", "", "", {})).blocks
    ] == [
        6,
        0,
    ]


def test_another_parameter_is_held_and_can_be_chosen() -> None:
    both = (read("amd-rome", "walltime", 1.0, value=("8", "64")), read("intel-skylake", "walltime", 2.0))
    shown = table(*both)
    assert (shown.fixed, shown.choices) == ({"value": "8"}, {"value": ["8", "64"]})
    asked = table(*both, wishes=TableChoices("", "", "", {"value": "64"}))
    assert asked.fixed == {"value": "64"}
    assert [len(each.cells) for each in asked.blocks] == [6, 0]
    assert asked.difference(asked.blocks[1], ("1000", "8")) is None
    assert table(*both, wishes=TableChoices("", "", "", {"value": "7"})).fixed == {"value": "8"}


def test_a_benchmark_without_parameters_has_one_cell() -> None:
    row = ArmPointRow([], "ns/op", "ns/op", 2, 5.0, None, None)
    shown = side_by_side(NAMED, [("amd-rome", "walltime", MeasuredArmRow(id=1, run="a"), [row])], NOTHING)

    assert (shown.down, shown.across, shown.rows, shown.columns) == ("", "", [""], [""])


def measured_on(platform: str, mode: str, seed: int, factor: float) -> MadeRun:
    """A run whose cases are entries by possible CPUs."""
    made = run_of(boots=3, cases=6, platform=platform, mode=mode, host=f"host-{seed}", seed=seed, spread=0.0)
    places = list(product(ENTRIES, CPUS))
    for case, (entries, cpus) in zip(made.record["plan"]["cases"], places, strict=True):
        case |= {
            "suite": NAMED[0],
            "benchmark": NAMED[1],
            "params": {"entries": entries, "possible-cpus": cpus},
        }
    values = np.array([factor * (int(entries) / 1000 + int(cpus)) for entries, cpus in places])
    made.record["suites"] = [NAMED[0]]
    return replace(
        made, logs=np.broadcast_to(np.log(values), (2, 3, 6)), measured=("ns/element", "ns/element")
    )


@pytest.fixture
def filled(running: Running) -> Any:
    for made in (
        measured_on("amd-rome", "walltime", 1, 1.0),
        measured_on("intel-skylake", "walltime", 2, 1.25),
        measured_on("emulated-x86-64", "icount", 3, 9.0),
    ):
        with running.http("upload") as http:
            put_all(http, made)
    running.do_tasks()
    return running


def test_the_page_has_a_block_a_platform_and_links_lead_to_it(filled: Any) -> None:
    head = commit_of("head")
    address = f"/platforms?revision={head}"
    with filled.http(None) as http:
        shown = http.get(
            f"{address}&suite={NAMED[0]}&benchmark={NAMED[1]}&rows=entries&columns=possible-cpus"
        ).text
        revision = http.get(f"/revisions/{head}").text
        (run, *_) = filled.get("/runs")["items"]
        of_run = http.get(f"/runs/{run['run']}").text

    assert address in revision
    assert f'{address}"' in of_run
    assert all(
        part in shown for part in ("amd-rome walltime", "intel-skylake walltime", "emulated-x86-64 icount")
    )
    assert "<small>+25.00 %</small>" in shown
    assert shown.count("<small>+25.00 %</small>") == 6
    assert "how much more a machine reads than amd-rome" in shown
    assert "no verdict" in shown
    assert "Modes count different things" in shown
    assert "<script" not in shown.partition("<main")[2]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        ("?revision=1234567", 404),
        ("?revision={head}&suite=ringbufs", 404),
        ("?revision={head}&at=x", 200),
        ("?revision={head}&metric=%3Cscript%3E&rows=%27&columns=%22", 200),
        ("?revision={head}" + "&at=a=b" * 21, 422),
    ],
)
def test_what_the_address_cannot_mean(filled: Any, query: str, status: int) -> None:
    with filled.http(None) as http:
        answered = http.get(f"/platforms{query.format(head=commit_of('head'))}")

    assert answered.status_code == status
    assert "<script>" not in answered.text
