"""Checks the results of a workflow run against GitHub.

Commits come from the event, never from the artifact.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import msgspec

from cliffwatch.comparing.compare_run import compare_run, sides_of_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.formats.reading import document_text
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.pull_request.mailing_list_series import touches_more_than_ci
from cliffwatch.pull_request.policy import Policy
from cliffwatch_runner.ci.artifact import ArtifactName, read_artifact_name, refuse_artifact, unpack
from cliffwatch_runner.ci.event import COMMIT
from cliffwatch_runner.ci.github_api import GitHubReader
from cliffwatch_runner.ci.workflow_run import NotPublished, WorkflowRun
from cliffwatch_runner.source.go_modules import is_module_path

_MOST_ARTIFACTS = 20
_LEFT_OUT = 20
"""Maximum number of commits at either end that are skipped because they touch only CI files."""

UNTRUSTED = (
    "Measured by the workflow of a fork, whose author can change it: untrusted, and no part of any history."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPull:
    """The open pull request of a workflow run, in its present state on GitHub."""

    number: int
    title: str
    base_branch: str
    base: str
    """A commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The results of one target: a run with its comparison, or a failure."""

    target: ArtifactName
    run: Run | None
    compared: ComparisonSet | None
    failure: Failure | None
    """Why the artifact is not used; None if `run` and `compared` are set."""


def open_pull(reader: GitHubReader, run: WorkflowRun) -> OpenPull | NotPublished | Failure:
    """Finds the pull request of a workflow run by its head: the event of a fork does not name it."""
    owner = run.head_repository.split("/")[0]
    listed = reader.pages("/pulls", head=f"{owner}:{run.head_branch}", state="open")
    if isinstance(listed, Failure):
        return listed
    ours = [
        each for each in listed if (each["head"].get("repo") or {}).get("full_name") == run.head_repository
    ]
    if not ours:
        return NotPublished("the pull request is closed")
    current = [each for each in ours if each["head"]["sha"] == run.head]
    if not current:
        return NotPublished("a newer push took its place")
    pull = min(current, key=lambda each: int(each["number"]))
    return OpenPull(
        number=int(pull["number"]),
        title=str(pull["title"]),
        base_branch=pull["base"]["ref"],
        base=pull["base"]["sha"],
    )


def results_of(
    reader: GitHubReader, run: WorkflowRun, pull: OpenPull | None, folder: Path
) -> list[Result] | Failure:
    """Downloads, unpacks and checks every artifact by Cliffwatch.

    A forged artifact does not affect the others.
    """
    listed = reader.pages(f"/actions/runs/{run.identity}/artifacts", "artifacts")
    if isinstance(listed, Failure):
        return listed
    named = {each["id"]: read_artifact_name(str(each["name"])) for each in listed}
    ours = [(int(identity), target) for identity, target in named.items() if target is not None]
    commits = _Commits(reader, run, pull)
    return [
        _result(reader, commits, identity, target, folder / f"{index:03d}")
        for index, (identity, target) in enumerate(ours[:_MOST_ARTIFACTS])
    ]


def _result(
    reader: GitHubReader, commits: "_Commits", identity: int, target: ArtifactName, folder: Path
) -> Result:
    archive = folder.with_suffix(".zip")
    failure = reader.download(identity, archive) or unpack(archive, folder)
    archive.unlink(missing_ok=True)
    read = failure or read_checked_run(folder, target)
    if isinstance(read, Failure):
        return Result(target=target, run=None, compared=None, failure=read)
    wrong = commits.wrong(*commits_of(read))
    if wrong is not None:
        return Result(target=target, run=None, compared=None, failure=wrong)
    return compare_result(target, read)


def compare_result(target: ArtifactName, run: Run) -> Result:
    """Compares the arms of a run. The run may contain arbitrary JSON values."""
    try:
        compared = compare_run(sides_of_run(run))
    except Exception as error:  # noqa: BLE001 - a stranger made what is compared: nothing of it ends the others
        compared = refuse_artifact(f"its values cannot be compared: {ascii(str(error))[:200]}")
    if isinstance(compared, Failure):
        return Result(target=target, run=None, compared=None, failure=compared)
    return Result(target=target, run=run, compared=compared, failure=None)


def read_checked_run(folder: Path, target: ArtifactName) -> Run | Failure:
    """Reads the run of an unpacked artifact. Refuses it if its target differs from the artifact's name."""
    try:
        run = read_run(folder)
    except Exception as error:  # noqa: BLE001 - as above
        return refuse_artifact(f"its run cannot be read: {ascii(str(error))[:200]}")
    if isinstance(run, Failure):
        return refuse_artifact("it holds no run that can be read")
    if (run.record.platform, run.record.mode) != (target.platform, target.mode):
        return refuse_artifact("it is of another target than its name says")
    if not {"base", "head"} <= run.arms.keys():
        return refuse_artifact("it has no base and head")
    if not all(COMMIT.fullmatch(commit) for commit in commits_of(run)):
        return refuse_artifact("its base and head are no commits")
    return run


def commits_of(run: Run) -> tuple[str, str]:
    """Returns base and head: commits of the library if the run compares one, else of the kernel tree."""
    library = library_of(run)
    if library is not None:
        return library.base, library.head
    return str(run.arms["base"].facts.get("commit")), str(run.arms["head"].facts.get("commit"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLibrary:
    """A Go module whose revisions a run compares. `base` and `head` are commits."""

    module: str
    base: str
    head: str


def library_of(run: Run) -> MeasuredLibrary | None:
    """Returns the Go library whose revisions a run compares; None if the run compares kernels."""
    arms = [run.record.arm_by_name.get(name) for name in ("base", "head")]
    chosen = [{} if arm is None or arm.settings is None else arm.settings.modules for arm in arms]
    for module, base in chosen[0].items():
        head = chosen[1].get(module, "")
        if is_module_path(module) and COMMIT.fullmatch(base) and COMMIT.fullmatch(head):
            return MeasuredLibrary(module=module, base=base, head=head)
    return None


class _Commits:
    """Checks the base and head of results against GitHub, once per pair of commits."""

    def __init__(self, reader: GitHubReader, run: WorkflowRun, pull: OpenPull | None) -> None:
        self._reader, self._run, self._pull = reader, run, pull
        self._known: dict[tuple[str, str], Failure | None] = {}

    def wrong(self, base: str, head: str) -> Failure | None:
        if (base, head) not in self._known:
            self._known[base, head] = self._wrong(base, head)
        return self._known[base, head]

    def _wrong(self, base: str, head: str) -> Failure | None:
        if not any(head == each for each in self._counting(self._run.head)):
            return refuse_artifact("its head is another commit than the workflow ran for")
        # For a push, base may be any commit below head; for a pull request it is the merge base with the base
        # branch.
        against = base if self._pull is None else self._pull.base_branch
        compared = self._reader.get(f"/compare/{quote(against, safe='')}...{self._run.head}")
        if isinstance(compared, Failure):
            return compared
        common = compared["merge_base_commit"]["sha"] if compared is not None else None
        if common is None or not any(base == each for each in self._counting(common)):
            return refuse_artifact(
                "its base is not the merge base of the pull request"
                if self._pull
                else "its base is not below head"
            )
        return None

    def _counting(self, commit: str) -> Iterator[str]:
        """Yields a commit and its ancestors, up to the first commit that touches more than CI files."""
        for _ in range(_LEFT_OUT):
            yield commit
            content = self._reader.get(f"/commits/{commit}")
            if not isinstance(content, dict) or len(content["parents"]) != 1:
                return
            if touches_more_than_ci(str(file["filename"]) for file in content.get("files", ())):
                return
            commit = content["parents"][0]["sha"]


def write_origin(measured: Run, run: WorkflowRun, server: str, policy: Policy) -> None:
    """Overwrites the origin in an unpacked run.json.

    The kernel tree of a library's run comes from the policy.
    """
    record = measured.record
    repository = f"{server}/{run.head_repository}"
    library = library_of(measured)
    said = (
        ()
        if library is None
        else (f"{library.module} of {repository}, {library.base[:12]} and {library.head[:12]}",)
    )
    marked = msgspec.structs.replace(
        record,
        tree=repository if library is None else policy.kernel.tree,
        notes=(*record.notes, *said, *origin_notes(run)),
    )
    (measured.path / "run.json").write_bytes(document_text(marked))


def origin_notes(run: WorkflowRun) -> Sequence[str]:
    return (UNTRUSTED,) if run.fork else ()


def uploading_host(run: WorkflowRun) -> str:
    """Returns the host name of GitHub's runners in the service. No enrolled host has such a name."""
    return f"{'github-fork' if run.fork else 'github'}:{run.repository}"
