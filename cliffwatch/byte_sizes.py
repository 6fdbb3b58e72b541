"""Sizes as people write and read them, in powers of 1024."""

import re

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_size(text: str) -> int | None:
    """Bytes of `20G`, `512M`, `1.5 TiB` or a plain number; None where it is no size."""
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
