"""What cases ask of their guest: read from suites, planned by shape, and started as asked."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from cliffwatch.catalogue.read import read_suite
from cliffwatch.catalogue.suite import ANY_GUEST, GuestNeeds, Suite
from cliffwatch.failure import Failure
from cliffwatch_runner.guest.argv import SANDBOX_FOLDERS, GuestShape, vng_argv
from cliffwatch_runner.plan.plan import make_plan
from cliffwatch_runner.plan.selection import Selection, select_cases
from cliffwatch_runner.plan.shapes import SHAPE_WORDS, apply_shapes, parse_shape, shape_of_case
from cliffwatch_runner.upload.setup_files import LocalSetup, collect_setup

SUITE = """
title = "Shapes"
about = "Cases of several guests"
[profiles]
smoke = { warmup = 1, duration = 1 }
standard = { warmup = 1, duration = 1 }
full = { warmup = 1, duration = 1 }
[[benchmark]]
name = "local-storage-cache-seq-get"
kind = "local-storage"
since = "6.0"
about = "Gets the storage of each map in turn"
deadline = 60
icount = { assume = "exact" }
[[benchmark.sweep]]
params = { nr_maps = [1, 16] }
profiles = ["smoke"]
[[benchmark.sweep]]
params = { nr_maps = 17 }
profiles = ["smoke"]
guest = GUEST
"""


def suite(folder: Path, guest: str) -> Suite:
    (folder / "shapes").mkdir()
    file = folder / "shapes" / "suite.toml"
    file.write_text(SUITE.replace("GUEST", guest))
    read = read_suite(file)
    assert isinstance(read, Suite), read
    return read


def selected(of: Suite, mode: str = "icount") -> Selection:
    return select_cases([of], "smoke", offered=None, release=(6, 12), mode=mode, cpus=1, memory_mib=None)  # type: ignore[arg-type]


def test_a_sweep_runs_over_guests_whose_shape_is_a_parameter_of_the_case(tmp_path: Path) -> None:
    cases = selected(suite(tmp_path, "{ possible_cpus = [1, 16], numa_nodes = 2 }")).cases

    assert [str(case.key) for case in cases] == [
        "local-storage-cache-seq-get/nr_maps=1",
        "local-storage-cache-seq-get/nr_maps=16",
        "local-storage-cache-seq-get/nr_maps=17/possible-cpus=1/numa-nodes=2",
        "local-storage-cache-seq-get/nr_maps=17/possible-cpus=16/numa-nodes=2",
    ]
    assert [case.argv for case in cases][2:] == [("--nr_maps", "17", "local-storage-cache-seq-get")] * 2
    assert [case.guest for case in cases][:2] == [ANY_GUEST, ANY_GUEST]


def test_a_block_boots_every_arm_once_in_each_shape(tmp_path: Path) -> None:
    cases = selected(suite(tmp_path, "{ cpus = [2, 4] }")).cases
    plan = make_plan(cases, arms=("base", "head"), boots=2, seed=7)

    for block in range(2):
        boots = [boot for boot in plan.boots if boot.block == block]
        assert len(boots) == 3 * 2
        for arm in ("base", "head"):
            shapes = [
                {plan.cases[case].guest.params for case in boot.cases} for boot in boots if boot.arm == arm
            ]
            assert all(len(each) == 1 for each in shapes)
            assert sorted(next(iter(each)) for each in shapes) == [
                (),
                (("guest-cpus", "2"),),
                (("guest-cpus", "4"),),
            ]


def test_threads_that_run_at_the_same_time_are_not_measured_where_instructions_are_counted(
    tmp_path: Path,
) -> None:
    of = suite(tmp_path, "{ cpus = 4, concurrent = true }")

    (outcome,) = selected(of).left_out
    assert outcome.status == "unsupported"
    assert outcome.reason.startswith("not measured in icount: the guest's CPUs do not run concurrently there")
    assert selected(of, "walltime").left_out == ()


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        (GuestNeeds(cpus=4), ["--cpus", "4"]),
        (GuestNeeds(possible_cpus=16), ["--cpus", "16"]),
        (GuestNeeds(cpus=4, numa_nodes=2), ["--cpus", "4,sockets=4,cores=1,threads=1"]),
    ],
)
def test_a_guest_is_started_as_its_cases_ask(needs: GuestNeeds, words: list[str]) -> None:
    shape = shape_of_case(GuestShape(mode="icount", cpus=1, memory_mib=2048), needs)
    argv = vng_argv(shape, SANDBOX_FOLDERS, None, ["true"])

    assert any(argv[index : index + len(words)] == words for index in range(len(argv)))
    assert ("maxcpus=1" in argv[argv.index("--append") + 1].split()) == (needs.possible_cpus is not None)
    assert shape.wanted()["cpus"] == str(needs.cpus or 1)
    assert shape.wanted().get("possible-cpus") == (str(needs.possible_cpus) if needs.possible_cpus else None)
    assert shape.wanted().get("numa-nodes") == (str(needs.numa_nodes) if needs.numa_nodes else None)


@pytest.mark.parametrize(
    ("needs", "cpus"),
    [
        (GuestNeeds(cpus=4, numa_nodes=2), [",cpus=0-1", ",cpus=2-3"]),
        (GuestNeeds(cpus=1, numa_nodes=2), [",cpus=0-0", ""]),
        (GuestNeeds(cpus=5, numa_nodes=2), [",cpus=0-1", ",cpus=2-4"]),
        (GuestNeeds(cpus=1, possible_cpus=4, numa_nodes=2), [",cpus=0-1", ",cpus=2-3"]),
    ],
)
def test_nodes_share_memory_and_cpus(needs: GuestNeeds, cpus: list[str]) -> None:
    shape = shape_of_case(GuestShape(mode="icount", cpus=1, memory_mib=2048), needs)
    (options,) = (
        word for word in vng_argv(shape, SANDBOX_FOLDERS, None, ["true"]) if word.startswith("--qemu-opts=")
    )

    assert re.findall(r"-object (\S+) -numa (\S+)", options) == [
        (f"memory-backend-ram,id=node{node},size=1024M", f"node,nodeid={node},memdev=node{node}{each}")
        for node, each in enumerate(cpus)
    ]


def test_cases_that_differ_in_their_guest_alone_are_not_the_same(tmp_path: Path) -> None:
    (tmp_path / "shapes").mkdir()
    file = tmp_path / "shapes" / "suite.toml"
    more = '[[benchmark.sweep]]\nparams = { nr_maps = 17 }\nprofiles = ["smoke"]\nguest = { cpus = GUEST }\n'
    file.write_text(SUITE.replace("GUEST", "{ cpus = 2 }") + more.replace("GUEST", "[4, 8]"))
    assert isinstance(read_suite(file), Suite)

    file.write_text(SUITE.replace("GUEST", "{ cpus = 2 }") + more.replace("GUEST", "[4, 2]"))
    (error,) = read_suite(file)  # type: ignore[misc]
    assert "has the case {'nr_maps': '17', 'guest-cpus': '2'} twice" in error.reason


def test_a_guest_has_room_for_the_cpus_that_it_has(tmp_path: Path) -> None:
    cases = selected(suite(tmp_path, "{ cpus = 4, possible_cpus = [2, 4] }"))

    (outcome,) = cases.left_out
    assert (outcome.status, dict(outcome.case.params)["possible-cpus"]) == ("not-run", "2")
    assert outcome.reason.startswith("its guest has 4 CPUs but only 2 possible CPUs")


@pytest.mark.parametrize(
    "guest", ["{ cpus = 0 }", "{ cpus = [] , colour = 1 }", "{ numa_nodes = 17 }", '{ cpus = "4" }']
)
def test_a_guest_that_cannot_be_is_refused_with_its_line(guest: str, tmp_path: Path) -> None:
    (tmp_path / "shapes").mkdir()
    file = tmp_path / "shapes" / "suite.toml"
    file.write_text(SUITE.replace("GUEST", guest))
    errors = read_suite(file)

    assert not isinstance(errors, Suite)
    assert errors[0].line == file.read_text().splitlines().index(f"guest = {guest}") + 1


def test_a_run_measures_every_case_in_each_shape_that_is_named_but_those_that_ask_for_a_guest_themselves(
    tmp_path: Path,
) -> None:
    shapes = (parse_shape("cpus=1"), parse_shape("cpus=2 possible-cpus=4 numa-nodes=2"))
    assert all(isinstance(shape, GuestNeeds) for shape in shapes)
    shaped = apply_shapes(suite(tmp_path, "{ cpus = 8 }"), shapes)  # type: ignore[arg-type]

    assert [str(case.key) for case in selected(shaped).cases] == [
        "local-storage-cache-seq-get/nr_maps=1/guest-cpus=1",
        "local-storage-cache-seq-get/nr_maps=1/guest-cpus=2/possible-cpus=4/numa-nodes=2",
        "local-storage-cache-seq-get/nr_maps=16/guest-cpus=1",
        "local-storage-cache-seq-get/nr_maps=16/guest-cpus=2/possible-cpus=4/numa-nodes=2",
        "local-storage-cache-seq-get/nr_maps=17/guest-cpus=8",
    ]
    assert shaped.config == ("CONFIG_NUMA=y", "CONFIG_X86_64_ACPI_NUMA=y")
    assert apply_shapes(shaped, shapes) == shaped  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "names nothing"),
        ("cpus", "give one or more of cpus=N possible-cpus=N numa-nodes=N"),
        ("cpus=0", "from 1 to 255"),
        ("cpus=2 cpus=3", "is given twice"),
        ("memory=4", "is no part of a shape"),
        ("cpus=4 possible-cpus=2", "fewer possible CPUs than CPUs"),
        ("numa-nodes=17", "from 1 to 16"),
        ("cpus=\N{ARABIC-INDIC DIGIT TWO}", "is no part of a shape"),
    ],
)
def test_a_shape_that_is_none_is_refused_with_what_is_wrong(text: str, problem: str) -> None:
    shape = parse_shape(text)
    assert isinstance(shape, Failure)
    assert problem in str(shape)


@pytest.mark.parametrize("word", SHAPE_WORDS.replace("=N", "=2").split())
def test_every_word_of_a_shape_reaches_the_guest_of_a_request(word: str) -> None:
    here = parse_shape(word)
    assert isinstance(here, GuestNeeds)

    sent = collect_setup(LocalSetup(shapes=[here]), str)

    assert not isinstance(sent, Failure)
    assert [shape.word() for shape in sent[0].shapes] == [word]
    assert here.params


@pytest.mark.parametrize("word", SHAPE_WORDS.replace("=N", "=2").split())
def test_the_guest_checks_every_word_of_a_shape(word: str) -> None:
    needs = parse_shape(word)
    assert isinstance(needs, GuestNeeds)
    wanted = shape_of_case(GuestShape(mode="icount", cpus=1, memory_mib=512), needs).wanted()
    agent = (files("cliffwatch_runner.guest") / "agent.sh").read_text()

    assert wanted[word.partition("=")[0]] == "2"
    assert [name for name in wanted if f"      {name}) found=" not in agent] == []
