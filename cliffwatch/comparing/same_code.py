"""Whether two arms execute the same code in a case, by the digests of it that their runs have."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # reports that know no code load nothing of it
    from cliffwatch.formats.code.digests import CodeDigests


def same_code(
    base: "CodeDigests | None", base_arm: str, head: "CodeDigests | None", head_arm: str
) -> bool | None:
    """Whether they do, each arm by what its run says of the case; None where a run does not say it, or where
    the runs are two and their boots did not execute functions of the same names.
    """
    if base is None or head is None or base.names != head.names:
        return None
    digests = base.of(base_arm), head.of(head_arm)
    return None if None in digests else digests[0] == digests[1]
