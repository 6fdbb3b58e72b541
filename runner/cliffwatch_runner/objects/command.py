"""`cliffwatch record`: records the constants and sizes of maps with which an object is in use."""

from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.command.terminal import echo_failure
from cliffwatch.counting import count_noun
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch.parsers.received.opening import read_limited
from cliffwatch_runner.objects.configuration import (
    RODATA,
    RecordedConfiguration,
    configuration_file,
    record_configuration,
    write_configuration,
)
from cliffwatch_runner.objects.folder import is_name, stem_of
from cliffwatch_runner.objects.recording import read_files, read_process

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("object_file", metavar="OBJECT", type=_FILE)
@click.option("--name", required=True, help="Name of the configuration, such as 8-layers.")
@click.option("--pid", type=int, help="Process that loaded the object. Calls bpftool, as root.")
@click.option(
    "--rodata",
    multiple=True,
    metavar="[SECTION=]FILE",
    help="Instead of --pid: output of `bpftool -j map dump` of the map with the constants, or its raw bytes; "
    "SECTION is .rodata by default; may be repeated.",
)
@click.option("--maps", type=_FILE, help="With --rodata: output of `bpftool -j map show`, for sizes of maps.")
def record(
    *, object_file: Path, name: str, pid: int | None, rodata: tuple[str, ...], maps: Path | None
) -> NoReturn:
    """Record the configuration in which an object is in use: its .rodata and the sizes of its maps.

    Writes STEM.NAME.json beside OBJECT. `cliffwatch run --suite veristat --data FOLDER` then verifies the
    object in it, too.
    """
    recorded = _record(object_file, name, pid, rodata, maps)
    if isinstance(recorded, Failure):
        raise SystemExit(echo_failure(recorded))
    file = object_file.parent / configuration_file(stem_of(object_file.name), name)
    try:
        file.write_text(write_configuration(recorded))
    except OSError as error:
        failure = wrong_usage(
            f"{file} cannot be written: {error.strerror}", "copy the object to a folder of yours"
        )
        raise SystemExit(echo_failure(failure)) from error
    size = sum(len(digits) // 2 for digits in recorded.rodata.values())
    sizes = count_noun(len(recorded.max_entries), "size")
    click.echo(f"{file}: {count_noun(size, 'byte')} of constants, {sizes} of maps")
    raise SystemExit(Exit.DONE)


def _record(
    object_file: Path, name: str, pid: int | None, rodata: tuple[str, ...], maps: Path | None
) -> RecordedConfiguration | Failure:
    if not is_name(name):
        return wrong_usage(f"--name {name!r} is no name", "use letters, digits, '-', '_' and '.'")
    if (pid is None) == (not rodata):
        return wrong_usage(
            "the values come from a process or from files", "name one of --pid and --rodata (with --maps)"
        )
    parts = [each.rpartition("=") for each in rodata]
    read = (
        read_files({section or RODATA: Path(file) for section, _, file in parts}, maps)
        if pid is None
        else read_process(pid)
    )
    if isinstance(read, Failure):
        return read
    try:
        content = read_limited(object_file)
    except OSError as error:
        return wrong_usage(f"{object_file} cannot be read: {error.strerror}", "name an object file")
    return record_configuration(content, *read)
