"""Numbers of things and lengths of time in words: one boot is not several, 200 seconds are minutes."""


def counted(count: float | str, one: str, several: str | None = None) -> str:
    """`1 boot`, `12,000 boots`, `auto boots`; `several` is the plural where it is not made with an s."""
    number = count if isinstance(count, str) else f"{count:,}"
    return f"{number} {one if number == '1' else several or f'{one}s'}"


def duration(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
