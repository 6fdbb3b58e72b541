"""The pieces that patterns of lines are made of. Blanks are matched loosely, because mail and web pages
change them.
"""

import re

_PLAIN_GROUP = re.compile(r"\((?!\?)")

NUMBER = r"(-?(?:\d+(?:\.\d*)?|inf|nan))"
ITER = r"Iter\s+(?P<iter>\d+)\s+\(\s*(?P<jitter>-?\d+(?:\.\d*)?)us\):\s*"
PLUS_MINUS = rf"\s*(?:±|\+/-|\+-|Â±|┬▒|ñ|\?|\ufffd{{1,2}})\s*{NUMBER}\s*"
"""With what becomes of ± where it is read in another code page, or written in one that has none."""


def name_groups(pattern: str, *names: str) -> str:
    """A whole line: gives the plain groups of a pattern their names, in order; `_` leaves a group out."""
    rest = iter(names)

    def group(_: re.Match[str]) -> str:
        name = next(rest)
        return "(?:" if name == "_" else f"(?P<{name}>"

    return _PLAIN_GROUP.sub(group, pattern.replace(r"\(", "\0")).replace("\0", r"\(") + r"\s*$"
