"""Arms as people name them: in words on the command line and in a file."""

from pathlib import Path

import pytest
import toy

from cliffwatch.comparing.compare_run import sides_of_run
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run
from cliffwatch.samples import select_compared_arms
from cliffwatch.stats.stages import Look, Stages
from cliffwatch_runner.plan.arms import ArmRequest, check_arms, parse_arms, read_arms


def arms_of(text: str) -> tuple[ArmRequest, ...]:
    arms = parse_arms(text)
    assert not isinstance(arms, Failure), arms
    return arms


def test_an_arm_is_a_revision_with_what_it_has_of_its_own() -> None:
    (arm,) = arms_of(
        "v2=HEAD~1 patch=one.patch patch=two.patch boot=mitigations=off"
        " sysctl=kernel.sched_rt_runtime_us=900000 param=workqueue.power_efficient=1 config=lean.config"
        " cc=gcc-12"
    )

    assert arm == ArmRequest(
        name="v2",
        rev="HEAD~1",
        patch=(Path("one.patch"), Path("two.patch")),
        boot=("mitigations=off",),
        sysctl={"kernel.sched_rt_runtime_us": "900000"},
        param={"workqueue.power_efficient": "1"},
        config=(Path("lean.config"),),
        cc="gcc-12",
    )
    assert arm.settings.files() == {
        "/proc/sys/kernel/sched_rt_runtime_us": "900000",
        "/sys/module/workqueue/parameters/power_efficient": "1",
    }


def test_values_with_blanks_stand_in_quotes() -> None:
    (arm,) = arms_of("tcp='v6.12' sysctl='net.ipv4.tcp_rmem=4096 131072 6291456'")

    assert isinstance(arm, ArmRequest)
    assert arm.sysctl == {"net.ipv4.tcp_rmem": "4096 131072 6291456"}


def test_go_modules_are_named_by_version_or_folder() -> None:
    (arm,) = arms_of("v2=HEAD module=example.org/a@v1.2.0 module=example.org/b=../b module=example.org/c=c")

    assert isinstance(arm, ArmRequest)
    assert arm.module == {"example.org/a": "v1.2.0", "example.org/b": "../b", "example.org/c": "./c"}
    assert arm.settings.words() == ("example.org/a@v1.2.0", "example.org/b=../b", "example.org/c=./c")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("v2", "it must be NAME=SUBJECT"),
        ("v2=", "it must be NAME=SUBJECT"),
        ("v2='HEAD", "a quote is not closed"),
        ("v2=HEAD kernel=vmlinuz", "it names two subjects, a revision and a prebuilt kernel"),
        ("v2=HEAD v6.12", "rev is given twice"),
        ("v2=boot=quiet", "it names no subject"),
        ("v2=kernel=linux.deb patch=a.patch", "a prebuilt kernel takes no patch"),
        ("v2=HEAD series=a.mbox patch=b.patch", "a series and a patch"),
        ("v2=HEAD colour=red", "'colour=red' is not one of rev, kernel"),
        ("v2=HEAD sysctl=kernel.panic", "sets nothing"),
        ("v2=HEAD sysctl=../../etc/passwd=1", "is not a setting such as"),
        ("v2=HEAD param=workqueue=1", "is not a parameter such as"),
        ("v2=HEAD boot=init=/bin/sh", "Cliffwatch sets this argument itself"),
        ("v2=HEAD 'boot=a b'", "is not a kernel argument"),
        ("v2=HEAD module=example.org/a", "has no version: give module=PATH@VERSION, or module=PATH=FOLDER"),
        (
            "v2=HEAD module=example.org/a@v1.0.0 module=example.org/a@v1.1.0",
            "example.org/a is given twice",
        ),
        ("v2=HEAD module=../a@v1.0.0", "is not a Go module path"),
        ("v2=HEAD module=example.org/a@upgrade", "is not a version such as v0.19.0, a branch or a commit"),
        ("v2=HEAD module=example.org/a@-x", "is not a version such as"),
        ("a/b=HEAD", "is not an arm name"),
        ("p{n}=HEAD sweep=n", "sets nothing: give sweep=NAME=VALUE"),
        ("p{n}=HEAD sweep=n=0..15", "needs 1 to 15 values: give one such as sweep=n=0..10"),
        ("p{n}=HEAD sweep=n=10..0", "is no rising range of whole numbers"),
        ("p{n}=HEAD sweep=n=0,,1", "needs 1 to 15 values"),
        ("p{n}=HEAD sweep=n=0..1000000000000", "is no rising range of whole numbers"),
        ("p{n}=HEAD sweep=n=a..c", "is no rising range of whole numbers"),
        ("p{n}=HEAD sweep=N=0..1", "is not a sweep: give one such as"),
        ("p{n}=HEAD sweep=n=0..1 sweep=m=0..1", "sweep names one knob"),
        (
            "p=HEAD sysctl=kernel.x={n} sweep=n=0..1",
            "each arm of the sweep needs its own name: put {n} into the name",
        ),
        ("p{n}=HEAD sysctl=kernel.x=1 sweep=n=a/b,c", "is not an arm name"),
        ("control=HEAD", "is not an arm name"),
    ],
)
def test_what_is_no_arm_says_why(text: str, reason: str) -> None:
    refused = parse_arms(text)

    assert isinstance(refused, Failure)
    assert refused.whose == "usage"
    assert reason in str(refused)


def test_a_file_names_arms_with_paths_from_its_own_folder(tmp_path: Path) -> None:
    file = tmp_path / "arms.toml"
    file.write_text(
        '[[arm]]\nname = "plain"\nrev = "HEAD"\n[[arm]]\nname = "v2"\nrev = "HEAD"\npatch ='
        ' ["v2.patch"]\nboot = ["quiet"]\nsysctl = {"kernel.panic" = "5"}\nmodule = {"example.org/a" ='
        ' "v1.0.0", "example.org/b" = "../b"}\n'
    )
    arms = read_arms(file)

    assert not isinstance(arms, Failure)
    assert [arm.name for arm in arms] == ["plain", "v2"]
    assert arms[1].patch == (tmp_path / "v2.patch",)
    modules = ("example.org/a@v1.0.0", f"example.org/b={tmp_path}/../b")
    assert arms[1].settings.words() == ("boot quiet", "kernel.panic=5", *modules)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[arm]\n", "cannot be read"),
        ('[[arm]]\nname = "a"\n', "a: it names no subject"),
        (
            '[[arm]]\nname = "a"\nrev = "HEAD"\ncolour = "red"\n',
            "arm.0: Object contains unknown field colour",
        ),
        ('[[arm]]\nname = "a"\nrev = 5\n', "arm.0.rev: Expected str"),
        ('[[arms]]\nname = "a"\nrev = "HEAD"\n', "unknown field arms"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "arms.toml"
    file.write_text(text)
    refused = read_arms(file)

    assert isinstance(refused, Failure)
    assert reason in str(refused)


def test_arms_have_names_of_their_own_and_are_at_least_two() -> None:
    one = ArmRequest(name="a", rev="HEAD")

    assert check_arms((one, one)).message == "two arms are called a"
    assert "at least two arms" in check_arms((one,)).message
    assert (
        "a run takes at most"
        in check_arms(tuple(ArmRequest(name=f"a{n}", rev="HEAD") for n in range(16))).message
    )


def test_a_sweep_is_an_arm_for_each_value_of_a_knob() -> None:
    arms = arms_of("p{n}=HEAD sysctl=kernel.bpf_prefetch={n} param=htab.ahead={n} sweep=n=0..10")

    assert [arm.name for arm in arms] == [f"p{n}" for n in range(11)]
    assert arms[10] == ArmRequest(
        name="p10", rev="HEAD", sysctl={"kernel.bpf_prefetch": "10"}, param={"htab.ahead": "10"}
    )
    assert check_arms(arms) is None
    named = arms_of("v{v}=HEAD patch=v{v}.patch boot=x={y} sweep=v=2,3a")
    assert [(arm.name, arm.patch, arm.boot) for arm in named] == [
        ("v2", (Path("v2.patch"),), ("x={y}",)),
        ("v3a", (Path("v3a.patch"),), ("x={y}",)),
    ]


def test_a_range_may_begin_below_zero() -> None:
    found = arms_of("p{n}=HEAD sysctl=kernel.x={n} sweep=n=-1..1")
    assert [arm.sysctl for arm in found] == [{"kernel.x": text} for text in ("-1", "0", "1")]


def test_a_file_sweeps_too(tmp_path: Path) -> None:
    file = tmp_path / "arms.toml"
    file.write_text(
        '[[arm]]\nname = "plain"\nrev = "v6.12"\n[[arm]]\nname = "p{n}"\nrev = "HEAD"\nsysctl = {'
        ' "kernel.bpf_prefetch" = "{n}" }\nsweep = { n = "1..3" }\n'
    )
    arms = read_arms(file)
    assert not isinstance(arms, Failure)
    assert [(arm.name, arm.sysctl) for arm in arms] == [
        ("plain", {}),
        *((f"p{n}", {"kernel.bpf_prefetch": str(n)}) for n in (1, 2, 3)),
    ]
    file.write_text('[[arm]]\nname = "p{n}"\nrev = "HEAD"\nsweep = "1..3"\n')
    refused = read_arms(file)
    assert isinstance(refused, Failure)
    assert "p{n}: sweep names one knob and its values" in str(refused)


@pytest.mark.usefixtures("stand_in")
def test_a_knob_of_eleven_values_is_one_run(repository: Path, tmp_path: Path) -> None:
    arms = arms_of("p{n}=HEAD boot=knob={n} sweep=n=0..10")
    run = toy.run_toy(toy.request(repository, tmp_path, base=None, head=None, arms=arms))

    assert isinstance(run, Run), run
    assert list(run.arms) == [f"p{n}" for n in range(11)]
    assert [len(arm.boots) for arm in run.arms.values()] == [1] * 11
    assert len(list((tmp_path / "cache" / "kernels").iterdir())) == 1


@pytest.mark.usefixtures("stand_in")
def test_three_arms_are_one_run_whose_boots_take_turns(repository: Path, tmp_path: Path) -> None:
    toy.change(
        repository,
        "kernel/bpf/core.c",
        "int bpf_prog_run(void)\n{\n\treturn 43;\n}\n",
        "bpf: Change something",
    )
    arms = (
        ArmRequest(name="plain", rev="v6.12"),
        ArmRequest(name="patched", rev="HEAD"),
        ArmRequest(name="quiet", rev="HEAD", boot=("quiet",)),
    )
    run = toy.run_toy(toy.request(repository, tmp_path, base=None, head=None, arms=arms, boots=2))

    assert not isinstance(run, tuple), run
    assert list(run.arms) == ["plain", "patched", "quiet"]
    assert [len(arm.boots) for arm in run.arms.values()] == [2, 2, 2]
    blocks = {boot.block: set() for boot in run.record.plan.boots}
    for boot in run.record.plan.boots:
        blocks[boot.block].add(boot.arm)
    assert all(names == {"plain", "patched", "quiet"} for names in blocks.values())
    assert run.record.arm_by_name["quiet"].settings.boot == ("quiet",)
    assert run.record.arm_by_name["patched"].settings is None
    assert run.record.arm_by_name["quiet"].label.endswith(", boot quiet")


@pytest.mark.usefixtures("stand_in")
def test_arms_stand_alone(repository: Path, tmp_path: Path) -> None:
    arms = (ArmRequest(name="a", rev="v6.12"), ArmRequest(name="b", rev="HEAD"))
    ended = toy.run_toy(toy.request(repository, tmp_path, arms=arms))

    assert isinstance(ended, tuple)
    assert ended[0].message == "--base and --head beside --arm"


def anchored(anchor: str) -> tuple[ArmRequest, ...]:
    return tuple(
        ArmRequest(name=name, rev=rev)
        for name, rev in (("base", "v6.12"), ("head", "HEAD"), ("anchor", anchor))
    )


@pytest.mark.usefixtures("stand_in")
def test_an_anchor_is_screened_beside_base_and_head_and_compared_with_neither(
    repository: Path, tmp_path: Path
) -> None:
    toy.change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    asked = toy.request(
        repository,
        tmp_path,
        base=None,
        head=None,
        arms=anchored("v6.12"),
        suites=("discovered", "local-storage"),
        boots=Stages(screen=5, screen_alpha=0.1, looks=(Look(boots=6, alpha=0.01),)),
    )
    run = toy.run_toy(asked)

    assert isinstance(run, Run), run
    assert [len([boot for boot in arm.boots if boot.stage == "screen"]) for arm in run.arms.values()] == [
        5,
        5,
        5,
    ]
    confirmed = {boot.arm for boot in run.record.plan.boots if boot.stage == "confirm"}
    assert confirmed == {"base", "head"}
    sides = sides_of_run(run)
    assert (sides.base.name, sides.head.name, sides.further) == ("base", "head", ())
    assert run.record.bench is not None
    assert run.record.bench.from_ == "head"


@pytest.mark.usefixtures("stand_in")
def test_an_anchor_that_does_not_build_leaves_base_and_head_measured(
    repository: Path, tmp_path: Path
) -> None:
    toy.change(
        repository, "kernel/bpf/core.c", "int bpf_prog_run(void)\n{\n\treturn 42\n}\n", "bpf: Break it"
    )
    toy.git(repository, "tag", "broken")
    toy.change(
        repository, "kernel/bpf/core.c", "int bpf_prog_run(void)\n{\n\treturn 42;\n}\n", "bpf: Repair it"
    )
    run = toy.run_toy(toy.request(repository, tmp_path, base=None, head=None, arms=anchored("broken")))

    assert isinstance(run, Run), run
    assert [len(run.arms[name].boots) for name in ("base", "head", "anchor")] == [1, 1, 0]
    failure = run.record.arm_by_name["anchor"].failure
    assert failure is not None
    assert "does not build" in failure.message


@pytest.mark.usefixtures("stand_in")
def test_an_anchor_that_the_tree_lacks_is_left_out_and_said(repository: Path, tmp_path: Path) -> None:
    toy.change(repository, "kernel/bpf/core.c", "int core;\n", "bpf: Change something")
    run = toy.run_toy(toy.request(repository, tmp_path, base=None, head=None, arms=anchored("f" * 40)))

    assert isinstance(run, Run), run
    assert list(run.arms) == ["base", "head"]
    assert any("the anchor is not measured" in note for note in run.record.notes)


def test_only_beside_base_and_head_an_anchor_is_compared_with_none() -> None:
    assert select_compared_arms(("base", "head", "anchor", "control")) == ["base", "head"]
    assert select_compared_arms(("anchor", "head", "control")) == ["anchor", "head"]
    assert select_compared_arms(("base", "head", "v2", "anchor")) == ["base", "head", "v2", "anchor"]
