"""releases.json: what `cliffwatch releases` measured, and in which result directories."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from cliffwatch.formats.values import MOST_ARMS, Commit, FreeJson, LongText, Moment, Name, Part, Text
from cliffwatch.samples import Profile

SuiteName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,63}(?![\s\S])")]
"""The name of a suite, which is also the name of its page's file."""

RunFolder = Annotated[str, Meta(pattern=r"^runs/[a-z0-9][A-Za-z0-9._-]{0,150}(?![\s\S])")]
"""A result directory: never one outside the audit's folder."""

FORMAT: Final = "cliffwatch-releases"
FORMAT_VERSION: Final = 1


class ReleaseRecord(Part, frozen=True, kw_only=True):
    """A release.

    `name`: that of its arm in every run. `tree`: as named on the command line, without credentials.
    `version`: VERSION.PATCHLEVEL.SUBLEVEL of its Makefile.
    """

    name: Name
    version: Name
    tree: Text
    commit: Commit


class SuiteRunRecord(Part, frozen=True, kw_only=True):
    """A result directory of one suite.

    `folder`: relative to releases.json. `bench`: the release whose bench, or program, was measured. `own` is
    true if the run measured that release alone, because the shared bench does not load on all releases.
    `seconds`: its time, builds included.
    """

    suite: SuiteName
    folder: RunFolder
    bench: Name
    own: bool
    seconds: Annotated[float, Meta(ge=0, le=1e9)]


class SuiteFailureRecord(Part, frozen=True, kw_only=True):
    """A run that could not be carried out. `bench` is as above."""

    suite: SuiteName
    bench: Name
    message: LongText
    next_step: LongText
    evidence: LongText


class ReleasesRecord(Part, frozen=True, kw_only=True):
    """releases.json. `releases` are in order of version, `suites` in order of measuring.

    `settings`: what else decides what is measured; a folder is resumed with the same ones alone.
    """

    format: Literal["cliffwatch-releases"]
    format_version: Literal[1]
    created: Moment
    profile: Profile
    releases: Annotated[tuple[ReleaseRecord, ...], Meta(min_length=2, max_length=MOST_ARMS - 1)]
    suites: Annotated[tuple[SuiteName, ...], Meta(max_length=200)]
    settings: FreeJson
    runs: Annotated[tuple[SuiteRunRecord, ...], Meta(max_length=4000)] = ()
    failures: Annotated[tuple[SuiteFailureRecord, ...], Meta(max_length=4000)] = ()
