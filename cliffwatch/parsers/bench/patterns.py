"""Building blocks for line patterns. Blanks match loosely, because mail and web pages change them."""

import re

_PLAIN_GROUP = re.compile(r"\((?!\?)")

NUMBER = r"(-?(?:\d+(?:\.\d*)?|inf|nan))"
ITER = r"Iter\s+(?P<iter>\d+)\s+\(\s*(?P<jitter>-?\d+(?:\.\d*)?)us\):\s*"
PLUS_MINUS = rf"\s*(?:±|\+/-|\+-|Â±|┬▒|ñ|\?|\ufffd{{1,2}})\s*{NUMBER}\s*"
"""Includes what ± becomes when it is decoded with the wrong code page, or encoded in one that lacks it."""


def name_groups(pattern: str, *names: str) -> str:
    """Names the plain groups of a pattern, in order, and anchors it at the line end.

    `_` makes a group non-capturing.
    """
    rest = iter(names)

    def group(_: re.Match[str]) -> str:
        name = next(rest)
        return "(?:" if name == "_" else f"(?P<{name}>"

    return _PLAIN_GROUP.sub(group, pattern.replace(r"\(", "\0")).replace("\0", r"\(") + r"\s*$"
