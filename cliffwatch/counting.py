"""How things are counted in words: one of them is not several."""


def counted(count: float | str, one: str, several: str | None = None) -> str:
    """`1 boot`, `12,000 boots`, `auto boots`; `several` is the plural where it is not made with an s."""
    number = count if isinstance(count, str) else f"{count:,}"
    return f"{number} {one if number == '1' else several or f'{one}s'}"
