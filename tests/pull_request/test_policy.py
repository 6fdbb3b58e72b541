"""A policy says what is measured and who is trusted; what is wrong with it is named with its line."""

from pathlib import Path

import pytest

from cliffwatch.catalogue.discovery import AUTO
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.failure import Failure
from cliffwatch.formats.setup import Setup
from cliffwatch.pull_request import policy as page
from cliffwatch.pull_request.policy import DEFAULT, EMULATED, LIBRARY_DEFAULT, Policy, Target, read_policy

WHOLE = """\
suites = ["local-storage", "ringbuf"]
profile = "standard"
boots = 21
bench-from = "base"
threshold = 0.5
fail-on = ["regression", "failed"]
follow = ["bpf-next", "for-next/*"]

[[target]]
mode = "icount"

[[target]]
mode = "walltime"
platform = "amd-rome"

[[target]]
mode = "walltime"
platform = "intel-skylake"
runs-on = ["self-hosted", "skylake-3"]

[trust]
associations = ["OWNER"]
authors = ["Alice", "kernel-patches-daemon-bpf[bot]"]
"""


def policy_of(text: str) -> Policy:
    policy = read_policy(text, ".cliffwatch.toml")
    assert isinstance(policy, Policy), policy
    return policy


def refusal(text: str) -> str:
    failure = read_policy(text, ".cliffwatch.toml")
    assert isinstance(failure, Failure)
    assert failure.whose == "usage"
    return "\n".join(filter(None, (failure.message, failure.evidence)))


def test_a_whole_policy() -> None:
    policy = policy_of(WHOLE)

    assert policy.suites == ("local-storage", "ringbuf")
    assert (policy.profile, policy.boots, policy.bench_from) == ("standard", 21, "base")
    assert policy.notable == pytest.approx(0.005)
    assert policy.fail_on == ("regression", "failed")
    assert policy.targets == (
        EMULATED,
        Target(platform="amd-rome", mode="walltime", runs_on=("self-hosted", "cliffwatch", "amd-rome")),
        Target(platform="intel-skylake", mode="walltime", runs_on=("self-hosted", "skylake-3")),
    )


TIMED = "[[target]]\nmode = 'walltime'\nplatform = 'amd-rome'"


def test_layouts_matched_and_time_are_those_of_walltime() -> None:
    policy = policy_of(f"boots = 'careful'\nlayouts = 16\nmatched = true\n{TIMED}")
    assert policy.setup == Setup(layouts=16, matched=True)
    assert policy_of(f"time = '20m'\n{TIMED}").setup == Setup(seconds=1200)
    assert policy_of(f"time = '2h'\nlayouts = 1\n{TIMED}").setup == Setup(seconds=7200, layouts=1)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("time = '20m'\nboots = 21", "a time chooses the number of boots"),
        ("layouts = 4\ntime = '20m'", "a time chooses the layouts itself"),
        ("matched = true\ntime = '20m'", "has no matched ones"),
        ("boots = 4\nlayouts = 6", "6 layouts cannot share 4 boots of each kernel"),
        ("boots = 'auto'\nlayouts = 11", "11 layouts cannot share 10 boots of each kernel"),
        ("boots = 'staged'\nlayouts = 11", "11 layouts cannot share 10 boots of each kernel"),
        ("boots = 'careful'\nlayouts = 22", "22 layouts cannot share 21 boots of each kernel"),
        ("matched = true\nboots = 21", "ask for staged or careful boots"),
        ("layouts = 1\nmatched = true", "there is none to match"),
    ],
)
def test_boots_layouts_and_time_that_contradict_are_named_with_their_line(keys: str, words: str) -> None:
    said = refusal(f"{keys}\n{TIMED}")
    assert said.startswith(".cliffwatch.toml:2: ")
    assert words in said


@pytest.mark.parametrize("key", ["layouts = 4", "matched = true", "time = '20m'"])
def test_what_is_of_walltime_needs_a_target_in_walltime(key: str) -> None:
    assert "only for walltime, and no target is in walltime" in refusal(key)


def test_an_empty_file_is_the_default() -> None:
    assert policy_of("") == DEFAULT
    assert EMULATED in DEFAULT.targets
    assert not DEFAULT.fail_on


def test_the_manuals_example_is_a_policy() -> None:
    assert page.__doc__ is not None
    example = "\n".join(line[4:] for line in page.__doc__.splitlines() if line.startswith("    "))

    assert len(policy_of(example).targets) == 2


def test_which_branches_are_followed() -> None:
    policy = policy_of(WHOLE)

    assert [
        branch
        for branch in ("bpf-next", "for-next/fixes", "bpf", "x/bpf-next")
        if policy.follows(branch, otherwise=True)
    ] == [
        "bpf-next",
        "for-next/fixes",
    ]
    assert DEFAULT.follows("anything", otherwise=True)
    assert not DEFAULT.follows("anything", otherwise=False)
    assert not policy_of("follow = []").follows("bpf-next", otherwise=True)


def test_who_is_trusted() -> None:
    policy = policy_of(WHOLE)

    assert policy.trusts("somebody", "OWNER")
    assert policy.trusts("alice", "NONE")  # logins have no capitals of their own
    assert policy.trusts("kernel-patches-daemon-bpf[bot]", "NONE")
    assert not policy.trusts("somebody", "MEMBER")
    assert DEFAULT.trusts("somebody", "MEMBER")
    assert not DEFAULT.trusts("somebody", "CONTRIBUTOR")
    assert not DEFAULT.trusts("", "")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("suite = []", 1, "did you mean 'suites'?"),
        ("suites = []", 1, "is empty"),
        ('suites = ["../x"]', 1, "no name of a suite"),
        ("suites = 3", 1, "must be a list"),
        ('\nprofile = "quick"', 2, "smoke, standard, full"),
        ("profile = [1]", 1, "smoke, standard, full"),
        ("boots = 0", 1, "1 to 999"),
        ("boots = true", 1, "1 to 999"),
        ("boots = {}", 1, "1 to 999"),
        ("layouts = 0", 1, "1 to 100"),
        ("layouts = 101", 1, "1 to 100"),
        ("layouts = true", 1, "1 to 100"),
        ("layouts = '8'", 1, "1 to 100"),
        ("matched = 1", 1, "true or false"),
        ("time = 20", 1, "20m"),
        ("time = '20'", 1, "20m"),
        ("time = '0m'", 1, "20m"),
        ("time = '169h'", 1, "at most 168h"),
        ("time = 10:20:00", 1, "20m"),
        ("threshold = -1", 1, "per cent"),
        ("threshold = nan", 1, "per cent"),
        ("threshold = true", 1, "per cent"),
        ('fail-on = ["everything"]', 1, "regression, failed, inconclusive"),
        ('fail-on = "regression"', 1, "must be a list"),
        ('follow = ["a b"]', 1, "pattern of a branch"),
        ("target = 1", 1, "[[target]]"),
        ("target = [1]", 1, "must be a table"),
        ("[[target]]\nplatform = 'amd-rome'", 1, "'mode' is missing"),
        ("[[target]]\nmode = 'kvm'", 2, "icount, walltime"),
        ("[[target]]\nmode = 'walltime'", 1, "'platform' is missing"),
        ("[[target]]\nmode = 'icount'\nplatform = 'a b'", 3, "no name of a platform"),
        ("[[target]]\nmode = 'icount'\nruns-on = []", 3, "is empty"),
        ("[[target]]\nmode = 'icount'\nruns-on = ['${{ secrets.X }}']", 3, "no label of a runner"),
        ("[[target]]\nmode = 'icount'\n\n[[target]]\nmode = 'icount'", 4, "there twice"),
        ("[trust]\nassociations = ['EVERYBODY']", 2, "OWNER"),
        ("[trust]\nauthors = ['a b']", 2, "no login"),
        ("trust = 1", 1, "must be a table"),
        ("suites = [", 1, "no TOML"),
        ("a = " + "[" * 5000, 1, "no TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, line: int, words: str) -> None:
    said = refusal(text)

    assert said.startswith(f".cliffwatch.toml:{line}: ")
    assert words in said


def test_everything_wrong_comes_at_once_in_order() -> None:
    said = refusal('profile = "x"\nboots = 0\n\n[trust]\nauthor = []')

    assert [line.split(": ")[0] for line in said.splitlines()] == [
        ".cliffwatch.toml:1",
        ".cliffwatch.toml:2",
        ".cliffwatch.toml:5",
    ]


def test_what_a_file_holds_is_shown_on_one_line() -> None:
    said = refusal('profile = "x\\n::set-output name=a::b\\u001b[2J' + "y" * 500 + '"')

    assert len(said.splitlines()) == 1
    assert "\x1b" not in said
    assert len(said) < 300


def test_a_huge_file_is_not_read() -> None:
    assert "too many" in refusal("#" * 70_000)


@pytest.mark.parametrize("where", ["examples/github/cliffwatch.toml", "docs/github.md"])
def test_the_policies_that_we_show_can_be_used(where: str) -> None:
    text = (Path(__file__).parents[2] / where).read_text()
    shown = text if where.endswith(".toml") else text.split("```toml\n")[1].split("```")[0]
    policy = read_policy(shown, where)
    assert isinstance(policy, Policy)
    assert set(policy.suites) <= {AUTO, *(suite.name for suite in load_catalogue().suites)}


def test_the_kernel_of_a_library_and_the_suites_that_it_has_by_default() -> None:
    said = policy_of('[kernel]\nrevision = "v6.18.2"\n')

    assert (said.kernel.revision, said.kernel.tree) == ("v6.18.2", DEFAULT.kernel.tree)
    assert read_policy("", "x", LIBRARY_DEFAULT) == LIBRARY_DEFAULT
    assert LIBRARY_DEFAULT.suites == ("cilium-ebpf",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[kernel]\ntree = "/home/me/linux"\n', "'tree' is '/home/me/linux': it is no URL of a tree"),
        ('[kernel]\ntree = "https://me:secret@example.org/linux"\n', "it carries a user name or a password"),
        ("[kernel]\ntree = 6\n", "'tree' is 6"),
        ('[kernel]\nrevision = "--upload-pack=x"\n', "'--upload-pack=x' is no name of a revision"),
        ('[kernel]\nrevision = "a..b"\n', "'a..b' is no name of a revision"),
        ('[kernel]\nbranch = "x"\n', "unknown key 'branch'"),
    ],
)
def test_a_kernel_that_cannot_be_fetched_is_refused(text: str, words: str) -> None:
    assert words in refusal(text)
