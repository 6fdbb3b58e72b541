"""Digests of the code that a case executes, by which two arms are seen to run the same."""

from typing import Annotated

from msgspec import Meta

from cliffwatch.formats.values import MOST_ARMS, Count, Name, OfCase, Part

CodeDigest = Annotated[str, Meta(pattern=r"^[0-9a-f]{24}(?![\s\S])")]


class ArmDigest(Part, frozen=True, kw_only=True):
    """An arm's digest: of the code of the named functions with the data that they refer to, of the suite's
    program and of the guest's settings.
    """

    arm: Name
    digest: CodeDigest


class CodeDigests(Part, frozen=True, kw_only=True):
    """`functions` says of how many functions of the kernel the digests are, and `names` is a digest of their
    names: those that any boot of any arm executed in the case, its set-up and the guest's boot included.
    Digests are of the same functions, and can be compared, where `names` is equal.
    """

    functions: Count
    names: CodeDigest
    arms: Annotated[tuple[ArmDigest, ...], Meta(max_length=MOST_ARMS)]

    def of(self, arm: str) -> str | None:
        """The digest of an arm; None of one that has none."""
        return next((each.digest for each in self.arms if each.arm == arm), None)


class CaseCode(OfCase, frozen=True, kw_only=True):
    """A case and its digests."""

    code: CodeDigests
