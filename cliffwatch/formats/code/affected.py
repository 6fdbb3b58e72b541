"""The output of `cliffwatch affected --format json`: the cases that a change of the kernel can affect."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.code.digests import CodeDigests
from cliffwatch.formats.code.function_counts import MOST_FUNCTIONS
from cliffwatch.formats.values import LARGEST_PLAN, Name, OfCase, Part, Text

Names = Annotated[tuple[Name, ...], Meta(max_length=MOST_FUNCTIONS)]


class AffectedCase(OfCase, frozen=True, kw_only=True):
    """A case, and the changed functions among those that it executes, including its set-up.

    If `counted` is false, its functions were never counted: `functions` is empty and `code` is null, but the
    case may still be affected. `program` is true if the program of its suite differs. `code` has a digest of
    the executed code for each arm. If base and head have the same digest, the case is unaffected.
    """

    counted: bool
    program: bool = False
    functions: Names
    code: CodeDigests | None = None


class AffectedDocument(Part, frozen=True, kw_only=True):
    """Which cases a change can affect."""

    format: Literal["cliffwatch-affected"] = "cliffwatch-affected"
    format_version: Literal[1] = 1
    base: Text
    head: Text
    counts: Text
    """Source of what cases execute, such as a result directory."""
    same_kernel: bool
    """Those counts are from base or head itself."""
    changed: Names
    """Functions that differ between base and head, including the data they refer to, or that only one has."""
    at_start: Names
    """Changed functions that every case executes: at boot or while its guest is prepared."""
    guests_differ: bool = False
    """Guests are prepared differently, by boot arguments or files."""
    affected: Annotated[tuple[AffectedCase, ...], Meta(max_length=LARGEST_PLAN)]
    """Cases that execute a changed function."""
    unaffected: Annotated[tuple[AffectedCase, ...], Meta(max_length=LARGEST_PLAN)]
    """Cases that execute none."""
