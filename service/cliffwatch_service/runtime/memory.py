"""What the C library does with memory that was freed: it goes back, instead of lying about in a pool for each thread."""

import ctypes

_M_ARENA_MAX = -8
_POOLS = 2


def few_pools() -> None:
    """Before the first thread begins. Where the library knows nothing of it, nothing happens."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _POOLS)


def give_back() -> None:
    """After work that needed much."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
