"""Where the installed suites are, and whether they name a benchmark, without parsing them."""

from functools import cache
from pathlib import Path


def suites_folder() -> Path:
    """The suites' folder: beside the package in a checkout, inside it in a wheel."""
    packaged = Path(__file__).parent / "suites"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "suites"


def may_have(benchmark: str) -> bool:
    """False if no suite can have the benchmark: its name is quoted nowhere in them."""
    return benchmark in _quoted_texts()


@cache
def _quoted_texts() -> frozenset[str]:
    texts = (file.read_text() for file in suites_folder().glob("*/suite.toml"))
    return frozenset(piece for text in texts for piece in text.replace("'", '"').split('"'))
