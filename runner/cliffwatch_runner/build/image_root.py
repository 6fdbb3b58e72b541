"""The root file system of a container image, for guests: bench runs on the libraries that it was linked with.

A bench that was built on a newer libc than the host's does not start in a guest that has the host's programs.
"""

import shutil
import tempfile
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner import process
from cliffwatch_runner.build.cache.uses import Uses
from cliffwatch_runner.host.programs import container_engine, find_udev

FOLDER = "guest-roots"
"""In the cache: a folder for each image by its digest, with the file system under `root`."""

_SECONDS = 600.0
_UNPACK = ["tar", "--extract", "--no-same-owner", "--no-same-permissions", "--exclude=dev/*", "--exclude=proc/*"]


def image_root(cache: Path, image: str, uses: Uses) -> Path | Failure | None:
    """The file system, held until the run ends; None of an image without udev, in which no guest can be started."""
    engine = container_engine() or "docker"
    about = process.run([engine, "image", "inspect", "--format", "{{.Id}}", image], deadline=_SECONDS)
    if not about.ok:
        return _failed(image, about.output)
    folder = cache / FOLDER / about.output.strip().removeprefix("sha256:")[:32]
    if not uses.take(folder):
        failure = _unpacked(engine, image, folder)
        if failure is not None:
            return failure
        uses.take(folder)
    root = folder / "root"
    return root if find_udev(root) is not None else None


def _unpacked(engine: str, image: str, folder: Path) -> Failure | None:
    """Puts the file system there in one step; whoever comes second takes what is there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = process.run([engine, "create", "--network", "none", image, "true"], deadline=_SECONDS)
    if not made.ok:
        return _failed(image, made.output)
    container = made.output.split()[-1]
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        (temporary / "root").mkdir()
        archive = temporary / "root.tar"
        for argv in (
            [engine, "export", "--output", str(archive), container],
            [*_UNPACK, "--file", str(archive), "--directory", str(temporary / "root")],
        ):
            done = process.run(argv, deadline=_SECONDS)
            if not done.ok:
                return _failed(image, done.output)
        archive.unlink()
        temporary.chmod(0o755)
        if not folder.exists():
            temporary.replace(folder)
    finally:
        process.run([engine, "rm", "--force", container], deadline=_SECONDS)
        shutil.rmtree(temporary, ignore_errors=True)
    return None


def _failed(image: str, evidence: str) -> Failure:
    return Failure(
        whose="host",
        message=f"the file system of the image {image} cannot be read, which guests would run on",
        next_step="see what the engine says, or name a root file system with --guest-root",
        evidence=evidence,
    )
