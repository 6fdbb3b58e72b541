"""The results of a workflow's run, held against what GitHub says of it: commits come from the event, never
from the artifact.
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
from cliffwatch.pull_request.mailing_list_series import counts
from cliffwatch.pull_request.policy import Policy
from cliffwatch_runner.ci.artifact import ArtifactName, read_artifact_name, refused, unpack
from cliffwatch_runner.ci.event import COMMIT
from cliffwatch_runner.ci.github_api import GitHubReader
from cliffwatch_runner.ci.workflow_run import NotPublished, WorkflowRun
from cliffwatch_runner.source.go_modules import is_module_path

_MOST_ARTIFACTS = 20
_LEFT_OUT = 20
"""Commits of CI files that are passed over at either end, at most."""

UNTRUSTED = (
    "Measured by the workflow of a fork, whose author can change it: untrusted, and no part of any history."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPull:
    """The open pull request that a run was for, as GitHub has it now."""

    number: int
    title: str
    base_branch: str
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One target's results: a run with its comparison, or why its artifact is not used."""

    target: ArtifactName
    run: Run | None
    compared: ComparisonSet | None
    failure: Failure | None


def open_pull(reader: GitHubReader, run: WorkflowRun) -> OpenPull | NotPublished | Failure:
    """The pull request whose head the run was for. The event names none for a fork, so GitHub is asked by
    head.
    """
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
    """Downloads, unpacks and checks every artifact of ours; each is by itself, so that a forged one hides no
    other.
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
    read = failure or checked_run(folder, target)
    if isinstance(read, Failure):
        return Result(target=target, run=None, compared=None, failure=read)
    wrong = commits.wrong(*commits_of(read))
    if wrong is not None:
        return Result(target=target, run=None, compared=None, failure=wrong)
    return compared_result(target, read)


def compared_result(target: ArtifactName, run: Run) -> Result:
    """A run with its comparison. What it holds may be anything that JSON can hold."""
    try:
        compared = compare_run(sides_of_run(run))
    except Exception as error:  # noqa: BLE001 - a stranger made what is compared: nothing of it ends the others
        compared = refused(f"its values cannot be compared: {ascii(str(error))[:200]}")
    if isinstance(compared, Failure):
        return Result(target=target, run=None, compared=None, failure=compared)
    return Result(target=target, run=run, compared=compared, failure=None)


def checked_run(folder: Path, target: ArtifactName) -> Run | Failure:
    """The run of an unpacked artifact, where it is one and of the target that the artifact is named for."""
    try:
        run = read_run(folder)
    except Exception as error:  # noqa: BLE001 - as above
        return refused(f"its run cannot be read: {ascii(str(error))[:200]}")
    if isinstance(run, Failure):
        return refused("it holds no run that can be read")
    if (run.record.platform, run.record.mode) != (target.platform, target.mode):
        return refused("it is of another target than its name says")
    if not {"base", "head"} <= run.arms.keys():
        return refused("it has no base and head")
    if not all(COMMIT.fullmatch(commit) for commit in commits_of(run)):
        return refused("its base and head are no commits")
    return run


def commits_of(run: Run) -> tuple[str, str]:
    """Base and head: of the library where the arms are its revisions, else of the kernel tree."""
    library = library_of(run)
    if library is not None:
        return library.base, library.head
    return str(run.arms["base"].facts.get("commit")), str(run.arms["head"].facts.get("commit"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLibrary:
    """The module that the arms of a run have at two commits."""

    module: str
    base: str
    head: str


def library_of(run: Run) -> MeasuredLibrary | None:
    """The Go library whose revisions a run compares; None of a run of kernels."""
    arms = [run.record.arm_by_name.get(name) for name in ("base", "head")]
    chosen = [{} if arm is None or arm.settings is None else arm.settings.modules for arm in arms]
    for module, base in chosen[0].items():
        head = chosen[1].get(module, "")
        if is_module_path(module) and COMMIT.fullmatch(base) and COMMIT.fullmatch(head):
            return MeasuredLibrary(module=module, base=base, head=head)
    return None


class _Commits:
    """Which base and head the results of a run may be of. Asks GitHub once for each."""

    def __init__(self, reader: GitHubReader, run: WorkflowRun, pull: OpenPull | None) -> None:
        self._reader, self._run, self._pull = reader, run, pull
        self._known: dict[tuple[str, str], Failure | None] = {}

    def wrong(self, base: str, head: str) -> Failure | None:
        if (base, head) not in self._known:
            self._known[base, head] = self._wrong(base, head)
        return self._known[base, head]

    def _wrong(self, base: str, head: str) -> Failure | None:
        if not any(head == each for each in self._counting(self._run.head)):
            return refused("its head is another commit than the workflow ran for")
        # For a push, base may be any commit below head; for a pull request it is the merge base with the base
        # branch.
        against = base if self._pull is None else self._pull.base_branch
        compared = self._reader.get(f"/compare/{quote(against, safe='')}...{self._run.head}")
        if isinstance(compared, Failure):
            return compared
        common = compared["merge_base_commit"]["sha"] if compared is not None else None
        if common is None or not any(base == each for each in self._counting(common)):
            return refused(
                "its base is not the merge base of the pull request"
                if self._pull
                else "its base is not below head"
            )
        return None

    def _counting(self, commit: str) -> Iterator[str]:
        """A commit, and those below it as long as the ones above touch CI files alone."""
        for _ in range(_LEFT_OUT):
            yield commit
            content = self._reader.get(f"/commits/{commit}")
            if not isinstance(content, dict) or len(content["parents"]) != 1:
                return
            if counts(str(file["filename"]) for file in content.get("files", ())):
                return
            commit = content["parents"][0]["sha"]


def mark(measured: Run, run: WorkflowRun, server: str, policy: Policy) -> None:
    """Writes into an unpacked run.json where it is from, in place of what it says itself: a library's kernel
    is that of the policy.
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
    """The name under which the service keeps what GitHub's runners measured: none that an
    enrolled host has.
    """
    return f"{'github-fork' if run.fork else 'github'}:{run.repository}"
