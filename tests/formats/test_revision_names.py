"""Branches may be called whatever git lets them be called, wherever one is named."""

import shutil
import subprocess

import pytest

from cliffwatch.pull_request.bench_command import BenchCommand, parse_bench_command
from cliffwatch.pull_request.policy import Policy, read_policy
from cliffwatch.trees.addresses import refuse_branch

NAMES = [
    "series/1234=>bpf-next",
    "it's",
    'say"so"',
    "$HOME",
    "🐝/schnell",
    "für-next",
    "a{b}",
    "a#1",
    "a&b;c",
    "v6.12",
    "a|b",
    "@x",
]
WRONG = [
    "",
    "-x",
    "a b",
    "a..b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a[b",
    "a\\b",
    "a.lock",
    "a/.b",
    "a/",
    "/a",
    "a//b",
    "a@{b",
    "a.",
    "a\nb",
    "@",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_git_allows_are_allowed(name: str) -> None:
    assert refuse_branch(name) is None
    assert parse_bench_command(f"/bench base={name}") == BenchCommand(verb="run", base=name)


@pytest.mark.parametrize("name", WRONG)
def test_names_that_git_does_not_allow_are_refused_in_words(name: str) -> None:
    failure = refuse_branch(name)

    assert failure is not None
    assert any(each in failure.message for each in ("git allows", "characters", "by git"))


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git to ask")
@pytest.mark.parametrize("name", [*NAMES, *WRONG[:-2]])
def test_git_says_the_same(name: str) -> None:
    asked = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False)

    assert (asked.returncode == 0) is (refuse_branch(name) is None)


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_follows_branches_of_any_name(name: str) -> None:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    policy = read_policy(f'follow = ["{escaped}", "for-next/*"]\n', "cliffwatch.toml")

    assert isinstance(policy, Policy), policy
    assert policy.follows(name, otherwise=False)
