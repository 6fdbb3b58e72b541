"""Memory tuning: few malloc arenas, freed memory returned to the system, and rare garbage collections."""

import ctypes
import gc

_M_ARENA_MAX = -8
_POOLS = 2
_OBJECTS = 100_000


def limit_malloc_arenas() -> None:
    """Limits the number of malloc arenas, else one per thread. Call it before the first thread starts.

    Does nothing if the C library has no `mallopt`.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _POOLS)


def make_collections_rare() -> None:
    """Makes garbage collections rare. Call it after everything is loaded.

    A document is tens of thousands of objects that are gone with its answer. Collecting again and again while
    they are made took as long as reading the document.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, 20, 20)


def release_freed_memory() -> None:
    """Returns freed memory to the system. Call it after work that needed much memory.

    Does nothing if the C library has no `malloc_trim`.
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
