"""`cliffwatch host collect`: packs what the maintainers need of a first real host."""

import os
import shlex
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.command.terminal import echo_failure, say
from cliffwatch.counting import count_noun, size_text
from cliffwatch.failure import Exit
from cliffwatch.samples import Accel
from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.options.measuring import accel_option
from cliffwatch_runner.command.options.values import hours_option
from cliffwatch_runner.doctor.anonymous import names_of_this_host
from cliffwatch_runner.doctor.collection import (
    Collected,
    Part,
    pack,
    parts_about,
    refuse_places,
    results_part,
    run_part,
    tuning_part,
)
from cliffwatch_runner.doctor.collection import (
    collect as collect_parts,
)
from cliffwatch_runner.doctor.facts import gather_facts

_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME")


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Archive to write, such as host.tar.gz.",
)
@click.option("--tree", metavar="DIR|URL", help="Kernel tree for a small run of HEAD against itself.")
@click.option(
    "--results",
    "folders",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    metavar="DIR",
    help="Result directory of a finished run to add; may be repeated.",
)
@click.option(
    "--tune/--no-tune",
    default=True,
    show_default=True,
    help="Try every setting of a walltime run and restore it.",
)
@accel_option
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
@hours_option
def collect(
    out: Path,
    tree: str | None,
    folders: tuple[Path, ...],
    accel: Accel,
    cache: Path,
    hours: float,
    *,
    tune: bool,
) -> NoReturn:
    """Run the checklist for a first real host and pack the answers into one file.

    Goes on when a part fails, and says which. The names of users and of the host are replaced, tokens are not
    read. Prints what is in the file: look at it before you send it.
    """
    wrong = refuse_places(out, folders)
    if wrong is not None:
        raise SystemExit(echo_failure(wrong))
    facts = gather_facts(cache)
    parts = [*parts_about(facts, accel), *([tuning_part(facts)] if tune else [])]
    parts += [results_part(folder, f"results-{number}") for number, folder in enumerate(folders, start=1)]
    with tempfile.TemporaryDirectory(prefix="cliffwatch-collect-") as folder:
        if tree is not None:
            parts.append(_small_run(tree, accel, cache, Path(folder) / "run", hours))
        names = names_of_this_host()
        collected = collect_parts(parts, names, lambda name: say(f"collecting {name}"))
    failed = pack(collected, names, out)
    if failed is not None:
        raise SystemExit(echo_failure(failed))
    _show(collected, out)
    raise SystemExit(Exit.DONE)


def _small_run(tree: str, accel: Accel, cache: Path, folder: Path, hours: float) -> Part:
    """A walltime run of one case of HEAD against itself."""
    argv = [sys.executable, "-m", "cliffwatch.command", "run", "--tree", tree, "--base", "HEAD"]
    argv += ["--head", "HEAD", "--mode", "walltime", "--accel", accel, "--suite", "local-storage"]
    argv += ["--case", "seq-get/nr_maps=16", "--boots", "3", "--out", str(folder), "--cache", str(cache)]
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return run_part(argv, folder, env, hours * 3600, partial(click.echo, nl=False, err=True))


def _show(collected: Collected, out: Path) -> None:
    click.echo(f"{out} ({size_text(out.stat().st_size)}) holds:")
    for part in collected.parts:
        failure = collected.left_out.get(part.name)
        if failure is not None:
            click.echo(f"  {part.name:<10} left out: {failure}")
            continue
        files = collected.files[part.name]
        size, count = size_text(sum(map(len, files.values()))), count_noun(len(files), "file")
        click.echo(f"  {part.name:<10} {count:>10} {size:>9}  {part.contents}")
    missing = len(collected.left_out) - sum(part.name in collected.left_out for part in collected.parts)
    if missing:
        click.echo(f"{count_noun(missing, 'file')} left out, see left-out.json: no text, or too large")
    click.echo(f"Look at it (tar -xzf {shlex.quote(str(out))}), then attach it to an issue of Cliffwatch.")
