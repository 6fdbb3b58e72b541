"""Digests of the code that a case executes. Equal digests show that two arms execute identical code."""

from typing import Annotated

from msgspec import Meta

from cliffwatch.formats.values import MOST_ARMS, Count, Name, OfCase, Part

CodeDigest = Annotated[str, Meta(pattern=r"^[0-9a-f]{24}(?![\s\S])")]


class ArmDigest(Part, frozen=True, kw_only=True):
    """An arm's digest.

    It covers the code of the case's functions, the data that they refer to, the suite's program and the
    guest's settings.
    """

    arm: Name
    digest: CodeDigest


class CodeDigests(Part, frozen=True, kw_only=True):
    """The digests of a case, one per arm.

    They cover the kernel functions that any boot of any arm executed in the case, including its set-up and
    the guest's boot. `functions` is the number of these functions, `names` a digest of their names. Digests
    can be compared if their `names` are equal, because they then cover the same functions.
    """

    functions: Count
    names: CodeDigest
    arms: Annotated[tuple[ArmDigest, ...], Meta(max_length=MOST_ARMS)]

    def of(self, arm: str) -> str | None:
        """Returns the digest of an arm; None if it has none."""
        return next((each.digest for each in self.arms if each.arm == arm), None)


class CaseCode(OfCase, frozen=True, kw_only=True):
    """A case and its digests."""

    code: CodeDigests
