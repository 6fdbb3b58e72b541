"""Turns a job into arguments of `cliffwatch run`.

The files of its request are stored in a folder of this host.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping
from pathlib import Path

from cliffwatch.failure import Failure, HttpFailure, host_failed
from cliffwatch.formats.reading import as_json, convert_to
from cliffwatch.formats.setup import SetupFile
from cliffwatch.formats.work import AskedFiles, Work
from cliffwatch.parsers.readings import Problem
from cliffwatch_runner.sandbox.untrusted_files import remove_tree
from cliffwatch_runner.upload.client import Client

_ARMS = ".arms.json"
"""No file of a request can have this name."""


def suite_names(offer: Work) -> str:
    """Returns the suites of a job. Slashes are replaced: a name with one would be a folder of this host."""
    return ",".join(offer.suites).replace("/", "_")


def take_files(client: Client, offer: Work, folder: Path) -> Failure | None:
    """Downloads the files of a job's request into an empty `folder` that builds may read, and writes its arms
    as a file.

    Raises OSError.
    """
    remove_tree(folder)
    if not offer.setup.files and not offer.setup.arms:
        return None
    folder.mkdir(parents=True)
    contents = _contents(client, offer) if offer.setup.files else {}
    if isinstance(contents, Failure):
        return contents
    for file in offer.setup.files:
        content = contents.get(file.name)
        if content is None or hashlib.sha256(content).hexdigest() != file.sha256:
            return host_failed(
                f"the service sent {file.name} with content other than the job lists",
                "submit the request again",
            )
        _write(folder / file.name, content, file)
    if offer.setup.arms:
        (folder / _ARMS).write_text(json.dumps({"arm": as_json(offer.setup.arms)}))
    return None


def _contents(client: Client, offer: Work) -> Mapping[str, bytes] | Failure:
    reply = client.get(f"/leases/{offer.lease}/files")
    if isinstance(reply, HttpFailure):
        if reply.is_temporary:
            return reply
        return host_failed(
            f"the service refuses the files of the job: {reply.message}", "look at the service's log"
        )
    files = convert_to(reply.body, AskedFiles)
    if isinstance(files, Problem):
        return host_failed(
            f"the service did not answer with files: {files}", "update this host or the service"
        )
    return {file.name: file.content for file in files.files}


def _write(path: Path, content: bytes, file: SetupFile) -> None:
    """The name was checked when the document was read: it cannot lead out of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755 if file.executable else 0o644)


def run_arguments(offer: Work, folder: Path, build_images: tuple[str, ...]) -> list[str] | Failure:
    """Returns the arguments of `cliffwatch run` that say what to measure.

    `build_images` are the images that this host builds in; the first is the default.
    """
    setup = offer.setup
    image = setup.build_image or next(iter(build_images), None)
    if image is not None and image not in build_images:
        return host_failed(f"this host does not build in {image}", "submit the request for another host")
    if setup.folders and "," in str(folder):
        return host_failed(
            f"{folder} contains a comma, which separates suites", "give the worker another --spool"
        )
    named = [*([suite_names(offer)] if offer.suites else []), *(str(folder / name) for name in setup.folders)]
    return [
        *(
            ("--arms", str(folder / _ARMS))
            if setup.arms
            else ("--arm", f"base={offer.base}", "--arm", f"head={offer.head}")
        ),
        *("--suite", ",".join(named)),
        *(word for shape in setup.shapes for word in ("--shape", shape.word())),
        *(("--bench-args", shlex.join(setup.bench_args)) if setup.bench_args else ()),
        *(("--data", str(folder / setup.data)) if setup.data is not None else ()),
        *(("--build-image", image) if image is not None else ()),
        *(("--only-affected",) if setup.only_affected and offer.mode == "icount" else ()),
        *setup.walltime_options(offer.mode),
    ]
