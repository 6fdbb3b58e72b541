"""What becomes of memory that was freed: it goes back, instead of lying about in a pool for each thread; and how often cycles are looked for."""

import ctypes
import gc

_M_ARENA_MAX = -8
_POOLS = 2
_OBJECTS = 100_000


def few_pools() -> None:
    """Before the first thread begins. Where the library knows nothing of it, nothing happens."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _POOLS)


def collect_seldom() -> None:
    """After everything is loaded. A document is tens of thousands of objects that are gone with its answer: to walk them again and again
    while they are made took as long as reading them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, 20, 20)


def give_back() -> None:
    """After work that needed much."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
