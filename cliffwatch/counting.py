"""Numbers of things, lengths of time and sizes as people write and read them: one boot is not several, 200
seconds are minutes.
"""

import re
from collections.abc import Sequence

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def count_noun(count: float | str, one: str, several: str | None = None) -> str:
    """`1 boot`, `12,000 boots`, `auto boots`; `several` is the plural where it is not made with an s."""
    number = count if isinstance(count, str) else f"{count:,}"
    return f"{number} {one if number == '1' else several or f'{one}s'}"


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; empty where there are none. Equal words once."""
    *others, last = dict.fromkeys(words) or ("",)
    return f"{', '.join(others)} and {last}" if others else last


def range_words(values: Sequence[float], form: str = ".2g") -> str:
    """`5`, or `5 to 22`: the least and the largest; empty where there are none."""
    if not values:
        return ""
    least, largest = f"{min(values):{form}}", f"{max(values):{form}}"
    return least if least == largest else f"{least} to {largest}"


def format_duration(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def parse_size(text: str) -> int | None:
    """Bytes, in powers of 1024, of `20G`, `512M`, `1.5 TiB` or a plain number; None where it is no size."""
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else int(float(match[1]) * 2 ** _UNITS[match[2].upper()])


def size_text(count: int) -> str:
    """Three digits at most, with the unit: `0 B`, `21 MiB`, `4.1 GiB`."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 999.5:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}" if value < 9.95 and unit != "B" else f"{value:.0f} {unit}"
