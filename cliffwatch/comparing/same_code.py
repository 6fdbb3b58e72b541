"""Tells from code digests whether two arms execute the same code in a case."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # reports that know no code load nothing of it
    from cliffwatch.formats.code.digests import CodeDigests


def same_code(
    base: "CodeDigests | None", base_arm: str, head: "CodeDigests | None", head_arm: str
) -> bool | None:
    """True if both arms execute identical code. Each arm's digest comes from its own run.

    None if a run has no digest of the arm, or if the boots of two runs executed functions of different names.
    """
    if base is None or head is None or base.names != head.names:
        return None
    digests = base.of(base_arm), head.of(head_arm)
    return None if None in digests else digests[0] == digests[1]
