"""Option type for a patch, a series or a list of arms: a file, a pipe, or standard input."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import rich_click as click

from cliffwatch.failure import Failure
from cliffwatch.parsers.received.opening import STANDARD_INPUT, read_content


class GivenFile(click.Path):
    """A regular file, a pipe or `-`.

    The uncompressed content of a pipe is kept in a file until the program ends, because it is read more than
    once.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path, exists=True, dir_okay=False, allow_dash=True)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        kept = keep_pipe(Path(super().convert(value, param, ctx)))  # type: ignore[arg-type]
        if isinstance(kept, Failure):
            self.fail(str(kept), param, ctx)
        return kept


def keep_pipe(path: Path) -> Path | Failure:
    """Returns the file itself, or a file with the content of the pipe or `-`.

    A missing path is returned unchanged, for the reader to report.
    """
    if str(path) != STANDARD_INPUT and (path.is_file() or path.is_dir() or not path.exists()):
        return path
    content = read_content(path)
    if isinstance(content, Failure):
        return content
    kept = Path(tempfile.mkdtemp(dir=_folder())) / ("stdin" if str(path) == STANDARD_INPUT else path.name)
    kept.write_bytes(content)
    return kept


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="cliffwatch-given-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
