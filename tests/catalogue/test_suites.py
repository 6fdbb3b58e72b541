"""The catalogue holds what the kernel offers, and says where a suite.toml is wrong."""

from pathlib import Path

import pytest

from cliffwatch.catalogue.discovery import (
    Missing,
    Supported,
    Unsupported,
    check_support,
    discovered_suite,
    parse_list,
    parse_release,
)
from cliffwatch.catalogue.load import Catalogue, load_catalogue, read_catalogue
from cliffwatch.catalogue.read import read_suite
from cliffwatch.catalogue.suite import Suite
from cliffwatch.catalogue.suite_file import Table
from cliffwatch.samples import CaseKey

GOOD = """\
title = "A suite"
about = "For a test."

[profiles]
smoke = { warmup = 1, duration = 1 }
standard = { warmup = 1, duration = 2 }
full = { warmup = 1, duration = 5 }

[[benchmark]]
name = "bloom-false-positive"
kind = "false-hits"
since = "5.16"
about = "Rate"
deadline = 30
icount = { assume = "exact", repeatability = 0.001 }
[[benchmark.sweep]]
params = { nr_entries = [1000, 2000], value_size = 8 }
profiles = ["smoke"]
[[benchmark.sweep]]
params = { nr_entries = [3000], fast = true }
profiles = ["full"]
"""


def suite_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "bloom" / "suite.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue()


def of_bench(catalogue: Catalogue) -> list[Suite]:
    """Other programs have benchmarks of their own, and take their own time."""
    return [suite for suite in catalogue.suites if suite.program is None]


def listed(data: Path, release: str = "6.12") -> tuple[str, ...]:
    return parse_list((data / f"bench-{release}-tcg" / "list.txt").read_text())


@pytest.mark.parametrize(("release", "count"), [("6.12", 54), ("7.3", 76)])
def test_every_benchmark_of_a_release_is_there_and_nothing_newer_claims_to_be_older(
    catalogue: Catalogue, data: Path, release: str, count: int
) -> None:
    offered = listed(data, release)
    linux = parse_release(release)
    assert linux is not None
    benchmarks = [each for suite in of_bench(catalogue) for each in suite.benchmarks if not each.loop_of]
    since = {benchmark.name: benchmark.since for benchmark in benchmarks}
    former = {name for benchmark in benchmarks if benchmark.name in offered for name in benchmark.formerly}

    assert len(offered) == count
    assert [name for name in offered if since.get(name, (99, 0)) > linux] == []
    assert [name for name in since if name not in (*offered, *former) and since[name] <= linux] == []


def test_local_storage_has_upstreams_whole_sweep(catalogue: Catalogue) -> None:
    suite = next(suite for suite in catalogue.suites if suite.name == "local-storage")
    keys = [case.key for case in suite.cases("full")]
    sweep = {
        name: sorted(int(key.params[-1][1]) for key in keys if key.benchmark == f"local-storage-cache-{name}")
        for name in ("hashmap-control", "seq-get", "int-get")
    }

    maps = [1, 10, 16, 17, 24, 32, 100, 1000]
    assert sweep == {"hashmap-control": [10, 1000, 10000, 100000, 4194304], "seq-get": maps, "int-get": maps}


def test_the_profiles_take_the_time_that_they_promise(catalogue: Catalogue) -> None:
    former = {name for suite in catalogue.suites for each in suite.benchmarks for name in each.formerly}
    minutes = {
        profile: sum(
            case.guest_seconds
            for suite in of_bench(catalogue)
            for case in suite.cases(profile)
            if case.key.benchmark not in former  # a tree has a benchmark under one of its names
        )
        / 60
        for profile in ("smoke", "standard")
    }

    assert minutes["smoke"] < 10
    assert 15 < minutes["standard"] < 25


def test_a_sweep_is_every_combination_as_options_of_bench(tmp_path: Path) -> None:
    suite = read_suite(suite_file(tmp_path, GOOD))

    assert isinstance(suite, Suite)
    assert [case.argv for case in suite.cases("smoke")] == [
        ("--nr_entries", "1000", "--value_size", "8", "bloom-false-positive"),
        ("--nr_entries", "2000", "--value_size", "8", "bloom-false-positive"),
    ]
    (full,) = suite.cases("full")
    assert full.argv == ("--nr_entries", "3000", "--fast", "bloom-false-positive")
    assert full.key == CaseKey("bloom", "bloom-false-positive", (("nr_entries", "3000"), ("fast", "yes")))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("deadline = 30", "deadlin = 30", 14, "unknown key 'deadlin'; did you mean 'deadline'?"),
        ('title = "A suite"', "titel = 1", 1, "unknown key 'titel'; did you mean 'title'?"),
        ('since = "5.16"', 'since = "v5"', 12, "it must be a kernel release"),
        ("deadline = 30", 'deadline = "30"', 14, "'deadline' must be a int, not str"),
        (
            'kind = "false-hits"',
            'kind = "hits"',
            11,
            "it must be one of: attach, false-hits, hashmap-full-update",
        ),
        ('profiles = ["full"]', 'profiles = ["ful"]', 21, "it must be one of: smoke, standard, full"),
        ("repeatability = 0.001", "repeatabilty = 0.001", 15, "unknown key 'repeatabilty'"),
        ("smoke = { warmup = 1", "smoke = { warmup = 0", 5, "must be at least 1"),
        ("nr_entries = [3000], fast = true", "nr_entries = 1000, value_size = 8", 9, "twice"),
        (
            'about = "For a test."',
            'about = "For a test."\nconfig = ["IPV6=y"]',
            3,
            "no line of a kernel configuration",
        ),
        (
            'about = "For a test."',
            'about = "For a test."\nconfig = ["CONFIG_IPV6=m"]',
            3,
            "no line of a kernel",
        ),
        (
            'about = "For a test."',
            'about = "For a test."\nconfig = ["CONFIG_A=y\\nCONFIG_B=y"]',
            3,
            "no line of a kernel",
        ),
        ("deadline = 30", 'deadline = 30\nempty_loop = "x"', 15, "must be another benchmark of this suite"),
        (
            "deadline = 30",
            'deadline = 30\nempty_loop = "bloom-false-positive"',
            15,
            "must be another benchmark",
        ),
        ("deadline = 30", 'deadline = 30\nformerly = "x"', 15, "'formerly' must be a list, not str"),
        (
            "deadline = 30",
            'deadline = 30\nformerly = ["bloom-false-positive"]',
            15,
            "the name that the benchmark has now",
        ),
        ("[profiles]", "[profiles", 4, "no TOML"),
    ],
)
def test_what_is_wrong_is_reported_with_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    path = suite_file(tmp_path, GOOD.replace(old, new))
    errors = read_suite(path)

    assert not isinstance(errors, Suite)
    assert [str(error) for error in errors if error.line == line and message in error.reason], [
        *map(str, errors)
    ]
    assert str(errors[0]).startswith(f"{path}:")


def test_a_suite_says_what_its_kernels_need_besides(tmp_path: Path) -> None:
    with_config = GOOD.replace(
        "[profiles]", 'config = ["CONFIG_IPV6=y", "CONFIG_LSM=\\"bpf\\""]\n\n[profiles]'
    )
    suite = read_suite(suite_file(tmp_path, with_config))

    assert isinstance(suite, Suite)
    assert suite.config == ("CONFIG_IPV6=y", 'CONFIG_LSM="bpf"')


def test_a_missing_key_is_reported_at_its_table(tmp_path: Path) -> None:
    errors = read_suite(suite_file(tmp_path, GOOD.replace("deadline = 30\n", "")))

    assert not isinstance(errors, Suite)
    assert [(error.line, error.reason) for error in errors] == [(9, "'deadline' is missing")]


def test_all_that_is_wrong_is_reported_at_once(tmp_path: Path) -> None:
    wrong = {
        'title = "A suite"': 'titel = "A suite"\nconfig = ["IPV6=y", 5]',
        "smoke = { warmup = 1": "smoke = { warmup = 0",
        "standard = { warmup = 1, duration = 2 }": "standard = 3",
        'since = "5.16"': 'since = "v5"\nuntil = "next"\nprimary = "hits"',
        "deadline = 30": 'deadlin = 30\nargs = "-c 1"',
        'assume = "exact"': 'assume = "most"',
        "nr_entries = [1000, 2000], value_size = 8": "nr_entries = [1000, 1000], value_size = 1979-05-27",
        'profiles = ["smoke"]': 'profiles = ["smok", "ful"]\nmin_cpus = true',
    }
    text = GOOD
    for old, new in wrong.items():
        assert old in text
        text = text.replace(old, new)
    errors = read_suite(suite_file(tmp_path, text))

    assert not isinstance(errors, Suite)
    assert [(error.line, error.reason) for error in errors] == [
        (1, "unknown key 'titel'; did you mean 'title'?"),
        (1, "'title' is missing"),
        (2, "'config' is 'IPV6=y'; that is no line of a kernel configuration, such as CONFIG_IPV6=y"),
        (2, "'config' must be a str, not int"),
        (6, "'warmup' is 0; it must be at least 1: bench refuses 0"),
        (7, "'standard' must be a table with warmup, duration"),
        (10, "'deadline' is missing"),
        (10, "'bloom-false-positive' has the case {'nr_entries': '1000', 'value_size': ''} twice"),
        (13, "'since' is 'v5'; it must be a kernel release such as \"6.12\""),
        (14, "'until' is 'next'; it must be a kernel release such as \"6.12\""),
        (15, "kind 'false-hits' prints no metric 'hits'"),
        (17, "unknown key 'deadlin'; did you mean 'deadline'?"),
        (18, "'args' must be a list, not str"),
        (19, "'assume' is 'most'; it must be one of: nothing, exact"),
        (21, "'value_size' must be a bool or int or float or str or list, not date"),
        (22, "'profiles' is 'smok'; it must be one of: smoke, standard, full"),
        (22, "'profiles' is 'ful'; it must be one of: smoke, standard, full"),
        (23, "'min_cpus' must be a int, not bool"),
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("deadline = 30", "deadline = -1", "'deadline' is -1; it must be 1 to 86400 seconds"),
        ("duration = 1", "duration = 0", "'duration' is 0; it must be 1 to 86400 seconds"),
        (
            "repeatability = 0.001",
            "repeatability = nan",
            "'repeatability' is nan; it must be a fraction",
        ),
        (
            "repeatability = 0.001",
            "repeatability = -1.0",
            "'repeatability' is -1.0; it must be a fraction",
        ),
        (
            'profiles = ["smoke"]',
            'profiles = ["smoke"]\nmemory_mib = 2000000',
            "'memory_mib' is 2000000; it must be 64",
        ),
        (
            'profiles = ["smoke"]',
            'profiles = ["smoke"]\nmin_cpus = 256',
            "'min_cpus' is 256; it must be 1 to 255 CPUs",
        ),
    ],
)
def test_a_number_that_no_run_can_use_is_an_error(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert right in GOOD
    errors = read_suite(suite_file(tmp_path, GOOD.replace(right, wrong, 1)))

    assert not isinstance(errors, Suite)
    assert [error.reason.startswith(said) for error in errors] == [True]


def test_a_benchmark_belongs_to_one_suite(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "suite.toml").write_text(GOOD)
    _, errors = read_catalogue(tmp_path)

    assert ["stands in one already" in error.reason for error in errors] == [True]


def test_cases_that_differ_in_their_guest_alone_are_two(tmp_path: Path) -> None:
    guests = GOOD.replace(
        "params = { nr_entries = [3000], fast = true }",
        "params = { nr_entries = 1000, value_size = 8 }\nguest = { possible_cpus = [2, 4] }",
    )
    suite = read_suite(suite_file(tmp_path, guests))
    again = read_suite(suite_file(tmp_path / "again", guests.replace("[2, 4]", "[2, 2]")))

    assert isinstance(suite, Suite)
    assert [str(case.key) for case in suite.cases("full")] == [
        f"bloom-false-positive/nr_entries=1000/value_size=8/possible-cpus={cpus}" for cpus in (2, 4)
    ]
    assert not isinstance(again, Suite)
    assert ["twice" in error.reason for error in again] == [True]


def test_a_benchmark_may_be_missing_only_below_its_release(catalogue: Catalogue) -> None:
    htab_mem = catalogue.benchmark("htab-mem")
    assert htab_mem is not None

    assert isinstance(check_support(htab_mem, frozenset({"htab-mem"}), (6, 12)), Supported)
    assert isinstance(check_support(htab_mem, frozenset(), (6, 5)), Unsupported)
    assert isinstance(check_support(htab_mem, frozenset(), (6, 6)), Missing)


def test_a_former_name_is_of_one_benchmark(tmp_path: Path) -> None:
    table = GOOD[GOOD.index("[[benchmark]]") :].replace("deadline = 30", 'deadline = 30\nformerly = ["old"]')
    another = table.replace("bloom-false-positive", "bloom-lookup")
    errors = read_suite(suite_file(tmp_path, GOOD[: GOOD.index("[[benchmark]]")] + table + another))

    assert not isinstance(errors, Suite)
    assert [error.reason for error in errors] == [
        "'formerly' has 'old', which was the name of 'bloom-false-positive' already"
    ]


def test_a_tree_that_has_a_benchmark_under_its_other_name_does_not_lack_it(catalogue: Catalogue) -> None:
    uprobes = next(suite for suite in catalogue.suites if suite.name == "uprobes")
    former, present = (catalogue.benchmark(f"trig-uprobe-{name}") for name in ("nop5", "nop10"))
    assert former is not None
    assert present is not None

    for benchmark, offered in ((former, present), (present, former)):
        names = uprobes.other_names(benchmark)
        answer = check_support(benchmark, frozenset({offered.name}), (8, 0), names)
        assert answer == Unsupported(f"bench of this tree calls it {offered.name}")
        assert isinstance(check_support(benchmark, frozenset(), (8, 0), names), Missing)


def test_a_name_that_only_other_trees_have_keeps_its_suite(tmp_path: Path) -> None:
    suite_file(tmp_path, GOOD.replace("deadline = 30", 'deadline = 30\nformerly = ["bloom-wrong"]'))
    read, errors = read_catalogue(tmp_path)

    assert not errors
    assert read.suite_of("bloom-wrong") == "bloom"
    assert read.benchmark("bloom-wrong") is None
    case = CaseKey("bloom", "bloom-wrong", ())
    assert read.traits(case, "false-positive-rate", "%", "icount").better == "lower"


def test_a_benchmark_that_cannot_work_any_more_is_unsupported_although_it_is_listed(
    catalogue: Catalogue,
) -> None:
    tasks_trace = catalogue.benchmark("local-storage-tasks-trace")
    assert tasks_trace is not None

    answer = check_support(tasks_trace, frozenset({"local-storage-tasks-trace"}), (7, 0))
    assert isinstance(answer, Unsupported)
    assert "SRCU-fast" in answer.reason


def test_what_a_branch_adds_is_discovered(catalogue: Catalogue) -> None:
    suite = discovered_suite(("trig-fentry", "qp-trie-lookup"), catalogue)

    assert [case.argv for case in suite.cases("smoke")] == [("qp-trie-lookup",)]
    assert suite.cases("smoke")[0].kind is None


@pytest.mark.parametrize(
    ("text", "release"), [("6.12.117", (6, 12)), ("v7.0-rc3", (7, 0)), ("next", None), ("", None)]
)
def test_releases_are_read_as_people_write_them(text: str, release: tuple[int, int] | None) -> None:
    assert parse_release(text) == release


def test_a_list_is_read_whatever_stands_around_it() -> None:
    text = "Available benchmarks:\n- count-global\n- ../../etc/passwd\n-\n- count-global\n  - count-local\n"

    assert parse_list(text) == ("count-global", "count-local")


def test_every_key_is_explained() -> None:
    text = (Path(__file__).parents[2] / "docs" / "suites.md").read_text()
    keys = {key for table in Table.__subclasses__() for key in table.__struct_fields__}

    assert {"title", "warmup", "unit", "since", "assume", "params", "smoke"} <= keys
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []
