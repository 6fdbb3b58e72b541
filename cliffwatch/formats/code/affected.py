"""What `cliffwatch affected --format json` writes: the cases that a change of the kernel can touch."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.code.digests import CodeDigests
from cliffwatch.formats.code.function_counts import MOST_FUNCTIONS
from cliffwatch.formats.values import LARGEST_PLAN, Name, OfCase, Part, Text

Names = Annotated[tuple[Name, ...], Meta(max_length=MOST_FUNCTIONS)]


class AffectedCase(OfCase, frozen=True, kw_only=True):
    """A case and the functions that differ of those that it executes, set-up included; none of a case that was never counted, which may be
    touched all the same. `program`: the program of its suite differs. `code` has a digest of what each arm executes, by its name; null of a case that
    was never counted. Where base and head have the same the case is unaffected.
    """

    counted: bool
    program: bool = False
    functions: Names
    code: CodeDigests | None = None


class AffectedDocument(Part, frozen=True, kw_only=True):
    """`changed` are the functions that differ between base and head, with the data that they refer to, or that only one has. `at_start` are those
    of them that every case executes: at boot, or as its guest is prepared; `guests_differ`: guests are prepared otherwise, by boot arguments or
    files. `affected` are the cases that can be touched, `unaffected` those
    that execute none of the changed. `counts` says where it is known from what cases execute, such as a result directory; `same_kernel`: it is of base or head itself.
    """

    format: Literal["cliffwatch-affected"] = "cliffwatch-affected"
    format_version: Literal[1] = 1
    base: Text
    head: Text
    counts: Text
    same_kernel: bool
    changed: Names
    at_start: Names
    guests_differ: bool = False
    affected: Annotated[tuple[AffectedCase, ...], Meta(max_length=LARGEST_PLAN)]
    unaffected: Annotated[tuple[AffectedCase, ...], Meta(max_length=LARGEST_PLAN)]
