"""What an event measures: base, head, targets and trust, by the policy of the base and never of the head."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from toy import change, git

from cliffwatch.command.main import main
from cliffwatch.formats.setup import Setup
from cliffwatch_runner.ci.job_plan import JobPlan, read_job_plan

WALLTIME = '[[target]]\nmode = "walltime"\nplatform = "amd-rome"\n'


def event_file(folder: Path, content: Any) -> Path:
    file = folder / "event.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def ask(repository: Path, name: str, content: Any, *more: str) -> Result:
    folder = repository.parent
    output, summary = folder / "output", folder / "summary"
    for file in (output, summary):
        file.unlink(missing_ok=True)
    argv = ["ci", "plan", "--event", event_file(folder, content), "--event-name", name, "--tree", repository]
    argv += ["--output", output, "--summary", summary, *more]
    return CliRunner().invoke(main, [str(word) for word in argv], catch_exceptions=False)


def plan_of(repository: Path, name: str, content: Any, *more: str) -> JobPlan:
    ended = ask(repository, name, content, *more)
    assert ended.exit_code == 0, ended.output
    lines = (repository.parent / "output").read_text().splitlines()
    plan = read_job_plan(
        next(after for line, after in itertools.pairwise(lines) if line.startswith("plan<<"))
    )
    assert isinstance(plan, JobPlan)
    return plan


def push(
    repository: Path, branch: str = "master", *, before: str = "0" * 40, after: str | None = None
) -> dict[str, Any]:
    return {
        "ref": f"refs/heads/{branch}",
        "before": before,
        "after": after or git(repository, "rev-parse", "HEAD"),
        "repository": {"full_name": "kernel/linux", "default_branch": "master"},
    }


def pull_request(base: str, head: str, *, fork: str = "kernel/linux", **more: Any) -> dict[str, Any]:
    return {
        "pull_request": {
            "number": 7,
            "body": more.get("body", ""),
            "title": "::set-output name=plan::forged",
            "base": {
                "sha": base,
                "ref": more.get("base_branch", "master"),
                "repo": {"full_name": "kernel/linux"},
            },
            "head": {"sha": head, "ref": more.get("branch", "topic"), "repo": {"full_name": fork}},
        }
    }


def published(repository: Path, branch: str = "master", commit: str = "HEAD") -> None:
    """The branch as a check-out knows it of its origin."""
    git(repository, "update-ref", f"refs/remotes/origin/{branch}", commit)


def policy(repository: Path, text: str) -> str:
    return change(repository, ".cliffwatch.toml", text, "Say what is measured")


def commit(repository: Path, name: str = "HEAD") -> str:
    return git(repository, "rev-parse", name)


def test_a_push_to_the_default_branch_is_measured_against_what_was_there(repository: Path) -> None:
    before = commit(repository)
    change(repository, "kernel/bpf/ringbuf.c", "int one;\n", "One")
    after = change(repository, "kernel/bpf/ringbuf.c", "int two;\n", "Two")

    plan = plan_of(repository, "push", push(repository, before=before))

    assert (plan.base, plan.head, plan.commits, plan.trust) == (before, after, 2, "followed")
    assert [(target.platform, target.mode, target.runs_on) for target in plan.targets] == [
        ("emulated-x86-64", "icount", ("ubuntu-24.04",))
    ]


def test_a_push_to_a_topic_branch_is_measured_against_the_merge_base(repository: Path) -> None:
    fork_point = commit(repository)
    change(repository, "behaviour", "slow\n", "On the main branch")
    published(repository)
    git(repository, "switch", "--quiet", "--create", "topic", fork_point)
    first = change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")
    change(repository, "kernel/bpf/bpf_local_storage.c", "# two\n", "Two")

    plan = plan_of(repository, "push", push(repository, "topic", before=first))

    assert (plan.base, plan.commits) == (fork_point, 2)


def test_a_pull_request_is_measured_against_the_merge_base(repository: Path) -> None:
    fork_point = commit(repository)
    base = change(repository, "behaviour", "slow\n", "On the main branch")
    git(repository, "switch", "--quiet", "--create", "topic", fork_point)
    head = change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")

    plan = plan_of(repository, "pull_request", pull_request(base, head))

    assert (plan.base, plan.head, plan.pull_request, plan.trust) == (fork_point, head, 7, "followed")


@pytest.mark.parametrize("fork", ["somebody/linux", None])
def test_a_pull_request_of_a_fork_is_an_outsiders(repository: Path, fork: str | None) -> None:
    base = commit(repository)
    content = pull_request(
        base, change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One"), fork=fork or ""
    )
    if fork is None:  # it was deleted meanwhile
        content["pull_request"]["head"]["repo"] = None

    assert plan_of(repository, "pull_request", content).trust == "outside"


@pytest.mark.parametrize(("fork", "matched"), [("somebody/linux", False), ("kernel/linux", True)])
def test_head_is_not_matched_of_a_fork_and_the_plan_says_so(
    repository: Path, fork: str, matched: bool
) -> None:
    keys = 'suites = ["local-storage"]\nboots = "careful"\nlayouts = 10\nmatched = true\n'
    base = policy(repository, f'{keys}[[target]]\nmode = "walltime"\nplatform = "amd-rome"\n')
    published(repository)
    head = change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    plan = plan_of(repository, "pull_request", pull_request(base, head, fork=fork))

    assert plan.setup == Setup(layouts=10, matched=matched)
    assert any("not matched to base's layouts" in note for note in plan.notes) != matched


def test_the_policy_is_that_of_the_base_and_never_of_the_head(repository: Path) -> None:
    base = policy(repository, 'fail-on = ["regression"]\nsuites = ["trigger"]\n')
    head = policy(repository, f'suites = ["ringbuf"]\n{WALLTIME}')

    plan = plan_of(repository, "pull_request", pull_request(base, head))

    assert plan.suites == ("trigger",)
    assert plan.fail_on == ("regression",)
    assert [target.mode for target in plan.targets] == ["icount"]


def test_wishes_of_a_pull_requests_own_workflow_are_not_heard(repository: Path) -> None:
    base = commit(repository)
    head = change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")
    choices = ("--policy", WALLTIME, "--base", head, "--head", base)

    plan = plan_of(repository, "pull_request", pull_request(base, head), *choices)

    assert (plan.base, plan.head) == (base, head)
    assert [target.mode for target in plan.targets] == ["icount"]


def test_who_starts_it_by_hand_says_what_is_measured(repository: Path) -> None:
    base = commit(repository)
    published(repository)
    middle = change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")
    head = change(repository, "kernel/bpf/bpf_local_storage.c", "# two\n", "Two")
    content = {"repository": {"full_name": "kernel/linux", "default_branch": "master"}, "inputs": {}}

    plan = plan_of(repository, "workflow_dispatch", content)
    assert (plan.base, plan.head, plan.trust) == (base, head, "outside")

    plan = plan_of(
        repository, "workflow_dispatch", content, "--base", middle, "--head", "HEAD", "--policy", WALLTIME
    )
    assert (plan.base, plan.head, plan.targets[0].runs_on) == (
        middle,
        head,
        ("self-hosted", "cliffwatch", "amd-rome"),
    )


def test_a_branch_that_is_named_by_hand_means_the_merge_base(repository: Path) -> None:
    base = commit(repository)
    newer = change(repository, "kernel/bpf/bpf_local_storage.c", "# newer\n", "Newer")
    published(repository)
    git(repository, "checkout", "--quiet", "-b", "topic", base)
    head = change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")
    git(repository, "branch", "--quiet", "--delete", "--force", "master")
    content = {"repository": {"full_name": "kernel/linux", "default_branch": "master"}, "inputs": {}}

    for words in (("--base", "master", "--head", "topic"), ("--base", "master..topic"), ("--head", "topic")):
        plan = plan_of(repository, "workflow_dispatch", content, *words)
        assert (plan.base, plan.head) == (base, head)
        assert (
            plan.notes[0]
            == f"Base is {base[:12]}, the merge base of origin/master and topic: 1 commit of topic, without 1"
            " newer commit of origin/master."
        )
    plan = plan_of(repository, "workflow_dispatch", content, "--base", newer, "--head", "topic")
    assert plan.base == newer
    assert plan.notes[0].startswith(f"Base is {newer[:12]}, as named; head left its history at {base[:12]}")

    plan = plan_of(repository, "pull_request", pull_request(newer, head))
    assert (plan.base, plan.notes[0]) == (
        base,
        (
            f"Base is {base[:12]}, the merge base of the base branch and head, without 1 newer commit of the"
            " base branch."
        ),
    )


def test_the_suites_are_those_that_the_change_concerns(repository: Path) -> None:
    base = commit(repository)
    head = change(repository, "kernel/bpf/lpm_trie.c", "int one;\n", "One")
    plan = plan_of(repository, "pull_request", pull_request(base, head))
    assert plan.suites == ("lpm-trie", "string-maps")
    assert plan.notes[0].startswith(
        "Suites by what head changes in kernel/bpf/lpm_trie.c: lpm-trie (declares kernel/bpf/"
    )


def test_a_change_that_no_suite_executes_is_not_measured_and_said(repository: Path) -> None:
    base = commit(repository)
    head = change(repository, "behaviour", "words\n", "One")
    plan = plan_of(repository, "pull_request", pull_request(base, head))
    assert (plan.targets, plan.commits) == ((), 0)
    assert plan.notes[0].startswith("Nothing is measured: no suite executes what head changes: behaviour.")
    assert "--suite: all, or some of attaching" in plan.notes[0]

    based = policy(repository, 'suites = ["auto", "trigger"]\n')
    head = change(repository, "behaviour", "more words\n", "Two")
    assert plan_of(repository, "pull_request", pull_request(based, head)).suites == ("trigger",)


def test_the_matrix_has_the_runners_of_each_target(repository: Path) -> None:
    before = policy(
        repository, f'{WALLTIME}[[target]]\nmode = "icount"\nruns-on = ["self-hosted", "cliffwatch"]\n'
    )
    change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")
    plan = plan_of(repository, "push", push(repository, before=before))

    assert json.loads(plan.matrix()) == {
        "include": [
            {
                "platform": "amd-rome",
                "mode": "walltime",
                "runs-on": ["self-hosted", "cliffwatch", "amd-rome"],
            },
            {"platform": "emulated-x86-64", "mode": "icount", "runs-on": ["self-hosted", "cliffwatch"]},
        ]
    }


def series(repository: Path) -> tuple[str, str, str]:
    """kernel-patches' branches: upstream, upstream with CI files, a series on top; commits of upstream, base
    branch and head.
    """
    upstream = commit(repository)
    (repository / ".github").mkdir()
    (repository / "ci").mkdir()
    (repository / "ci/run").write_text("vmtest\n")
    base = change(repository, ".github/test.yml", "on: push\n", "adding ci files")
    published(repository, "bpf-next_base")
    git(repository, "switch", "--quiet", "--create", "series/358111=>bpf-next")
    change(repository, "behaviour", "slow\n", "bpf: Faster")
    return (
        upstream,
        base,
        change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "bpf: Faster still"),
    )


def test_a_series_of_the_mailing_list_is_measured_against_upstream(repository: Path) -> None:
    upstream, base, head = series(repository)
    content = pull_request(base, head, branch="series/358111=>bpf-next", base_branch="bpf-next_base")

    for plan in (
        plan_of(repository, "pull_request", content),
        plan_of(repository, "push", push(repository, "series/358111=>bpf-next")),
    ):
        assert (plan.base, plan.head, plan.commits, plan.series) == (upstream, head, 2, 358111)


def test_a_series_as_a_base_gives_no_policy(repository: Path) -> None:
    """Whoever sends a mail puts files into its branch: by them he would choose runners, and whom to trust."""
    series(repository)
    base = policy(repository, WALLTIME)
    git(repository, "switch", "--quiet", "--create", "topic")
    head = change(repository, "kernel/bpf/ringbuf.c", "int on_top;\n", "bpf: On top")

    plan = plan_of(
        repository, "pull_request", pull_request(base, head, base_branch="series/358111=>bpf-next")
    )

    assert [target.mode for target in plan.targets] == ["icount"]


def test_the_ci_files_on_top_of_a_series_are_left_out(repository: Path) -> None:
    upstream, base, head = series(repository)
    top = change(repository, "ci/run", "vmtest 2\n", "adding ci files")

    plan = plan_of(repository, "pull_request", pull_request(base, top))

    assert (plan.base, plan.head, plan.commits) == (upstream, head, 2)


def test_nothing_is_measured_of_ci_files_alone(repository: Path) -> None:
    before = commit(repository)
    (repository / ".github").mkdir()
    change(repository, ".github/test.yml", "on: push\n", "ci: Add a test")

    plan = plan_of(repository, "push", push(repository, before=before))

    assert json.loads(plan.matrix()) == {"include": []}
    assert "no commit touches more than CI files" in (repository.parent / "summary").read_text()
    assert "targets<<" in (repository.parent / "output").read_text()


def test_branches_that_the_policy_does_not_follow_are_not_measured(repository: Path) -> None:
    policy(repository, 'follow = ["master", "for-next/*"]')
    published(repository)
    before = commit(repository)
    first = change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")
    second = change(repository, "kernel/bpf/bpf_local_storage.c", "# two\n", "Two")

    assert plan_of(repository, "push", push(repository, "topic")).targets == ()
    followed = plan_of(repository, "push", push(repository, "for-next/fixes", before=first))
    assert (followed.base, followed.head, followed.commits) == (first, second, 1)
    assert plan_of(repository, "push", push(repository, before=before)).commits == 2


PUSH = {
    "ref": "refs/heads/x",
    "before": "0" * 40,
    "after": "1" * 40,
    "repository": {"full_name": "kernel/linux", "default_branch": "master"},
}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("schedule", {}, "nothing is measured for the event 'schedule'"),
        ("push", "no JSON", "cannot be used"),
        ("push", "[" * 100_000, "cannot be used"),
        ("push", [1], "cannot be used: Expected object"),
        ("push", {"ref": "refs/tags/v1"}, "missing required field before"),
        ("push", {**PUSH, "ref": "refs/tags/v1"}, "not to a branch"),
        ("push", {**PUSH, "after": "0" * 40}, "the branch was deleted"),
        ("push", {**PUSH, "before": "$(id)"}, "before: Expected str that is"),
        ("pull_request", {"pull_request": {"head": {}, "base": {}}}, "pull_request.head: Object missing"),
        ("pull_request", pull_request("1" * 40, "--upload-pack=x"), "head.sha: Expected str that is"),
        ("pull_request", pull_request("1" * 40, "2" * 40), "does not have 111111111111"),
    ],
)
def test_an_event_that_is_none_is_refused(repository: Path, name: str, content: Any, words: str) -> None:
    ended = ask(repository, name, content)

    assert ended.exit_code == 2
    assert words in ended.output
    assert (
        "fetch-depth" in ended.output
        or "GITHUB_EVENT_PATH" in ended.output
        or "start the workflow" in ended.output
    )


def test_a_wrong_policy_is_shown_with_its_line_and_commands_in_it_are_text(repository: Path) -> None:
    base = policy(repository, '\nprofile = "::add-mask::x"\nsuite = []\n')
    head = change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")

    ended = ask(repository, "pull_request", pull_request(base, head))

    assert ended.exit_code == 2
    assert ".cliffwatch.toml:2: 'profile' is '::add-mask::x'" in ended.output
    assert ".cliffwatch.toml:3: unknown key 'suite'; did you mean 'suites'?" in ended.output
    assert [line for line in ended.output.splitlines() if line.startswith("::")] == [
        ended.output.splitlines()[0]
    ]
    assert ended.output.startswith("::error title=cliffwatch::.cliffwatch.toml:2: ")


def test_a_policy_that_is_a_link_is_not_read(repository: Path) -> None:
    (repository / ".cliffwatch.toml").symlink_to("/etc/passwd")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "A link")
    base = commit(repository)

    ended = ask(
        repository,
        "pull_request",
        pull_request(base, change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")),
    )

    assert ended.exit_code == 2
    assert "is no regular file" in ended.output


def test_a_suite_that_there_is_not_is_refused_before_anything_is_built(repository: Path) -> None:
    before = policy(repository, 'suites = ["local-storge"]')
    change(repository, "kernel/bpf/bpf_local_storage.c", "# one\n", "One")
    ended = ask(repository, "push", push(repository, before=before))

    assert ended.exit_code == 2
    assert ".cliffwatch.toml: there is no suite 'local-storge'" in ended.output


EBPF = "module github.com/cilium/ebpf\n\ngo 1.24.0\n"
LIBRARY = ("--subject", "go-library")


def library(repository: Path, text: str = EBPF) -> str:
    return change(repository, "go.mod", text, "Say which module it is")


def test_a_go_library_is_planned_with_its_module_and_the_kernel_that_it_is_measured_on(
    repository: Path,
) -> None:
    base = library(repository)
    head = change(repository, "map.go", "package ebpf\n", "Open maps faster")

    plan = plan_of(repository, "pull_request", pull_request(base, head), *LIBRARY)

    assert (plan.base, plan.head, plan.suites) == (base, head, ("cilium-ebpf",))
    assert plan.library is not None
    assert (plan.library.module, plan.library.kernel) == ("github.com/cilium/ebpf", "v6.12")
    assert plan.library.kernel_tree.startswith("https://git.kernel.org/")
    assert "`github.com/cilium/ebpf` on linux `v6.12`" in (repository.parent / "summary").read_text()
    assert plan_of(repository, "pull_request", pull_request(base, head)).library is None


def test_the_kernel_is_that_of_the_policy_of_the_base(repository: Path) -> None:
    library(repository)
    base = policy(repository, '[kernel]\ntree = "https://example.org/linux.git"\nrevision = "v6.18"\n')
    head = policy(repository, '[kernel]\ntree = "https://evil.example.org/linux.git"\n')

    plan = plan_of(repository, "pull_request", pull_request(base, head), *LIBRARY)

    assert plan.library is not None
    assert (plan.library.kernel_tree, plan.library.kernel) == ("https://example.org/linux.git", "v6.18")


@pytest.mark.parametrize(
    ("base", "head", "words"),
    [
        (None, EBPF, "base, {base}, has no go.mod at its top"),
        (EBPF, None, "head, {head}, has no go.mod at its top"),
        (EBPF, "go 1.24\n", "head, {head}, names no module in its go.mod"),
        (EBPF, "module ::add-path::/tmp\n", "head is no module: '::add-path::/tmp'"),
        (
            EBPF,
            "module example.org/fork\n",
            "base is the module github.com/cilium/ebpf, and head is example.org/fork",
        ),
        (
            "module example.org/b\n",
            "module example.org/b\ngo 1.24\n",
            "no suite of this run is built with it",
        ),
    ],
)
def test_what_no_suite_can_be_built_with_is_refused_before_anything_is_built(
    repository: Path, base: str | None, head: str | None, words: str
) -> None:
    commits = []
    for text in (base, head):
        if text is None:
            (repository / "go.mod").unlink(missing_ok=True)
            commits.append(
                change(
                    repository, "kernel/bpf/bpf_local_storage.c", f"# {len(commits)}\n", "Without a module"
                )
            )
        else:
            commits.append(library(repository, text))

    ended = ask(repository, "pull_request", pull_request(commits[0], commits[1]), *LIBRARY)

    assert ended.exit_code == 2
    assert words.format(base=commits[0][:12], head=commits[1][:12]) in ended.output
    assert [line for line in ended.output.splitlines() if line.startswith("::")] == [
        ended.output.splitlines()[0]
    ]


def test_a_go_mod_that_is_a_link_is_not_read(repository: Path) -> None:
    base = library(repository)
    (repository / "go.mod").unlink()
    (repository / "go.mod").symlink_to("/etc/passwd")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "A link")

    ended = ask(repository, "pull_request", pull_request(base, commit(repository)), *LIBRARY)

    assert ended.exit_code == 2
    assert "go.mod of" in ended.output
    assert "is no regular file" in ended.output


def test_a_revision_of_a_library_that_there_is_not_is_refused(repository: Path) -> None:
    ended = ask(repository, "pull_request", pull_request(library(repository), "2" * 40), *LIBRARY)

    assert ended.exit_code == 2
    assert "the check-out does not have 222222222222" in ended.output
