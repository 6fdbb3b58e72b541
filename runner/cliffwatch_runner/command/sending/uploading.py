"""Uploads finished runs to a service: `cliffwatch run --upload` and `cliffwatch upload`."""

import socket
from pathlib import Path

from rich.console import Console

from cliffwatch.command.secret import read_token
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch_runner.command.failures import print_failures
from cliffwatch_runner.upload.client import Client
from cliffwatch_runner.upload.result_directory import Uploaded, upload_run


def upload_token(url: str | None) -> str | Failure | None:
    """Reads the upload token, before the run starts. None if nothing is uploaded."""
    if url is None:
        return None
    if not url.startswith(("http://", "https://")):
        return wrong_usage(
            f"--upload: {url!r} is not a service URL", "give a URL such as https://bench.example.org"
        )
    return read_token(None)


def upload_folder(folder: Path, url: str, token: str | None, console: Console) -> Exit:
    """Uploads a finished run. A retry sends only what the service does not have yet."""
    client = Client(url, token)
    try:
        uploaded = upload_run(client, folder, socket.gethostname())
    finally:
        client.close()
    if isinstance(uploaded, Uploaded) and not uploaded.refused:
        console.print(f"uploaded: {client.url}/runs/{uploaded.run}", highlight=False, soft_wrap=True)
        if uploaded.lacks:
            note = f"code.json was sent without {uploaded.lacks}; {folder} has it whole"
            console.print(note, highlight=False, markup=False, soft_wrap=True)
        return Exit.DONE
    why = "; ".join(uploaded.refused) if isinstance(uploaded, Uploaded) else uploaded.message
    failure = Failure(
        whose="usage" if isinstance(uploaded, Uploaded) else uploaded.whose,
        message=f"the results were not uploaded: {why}",
        next_step=f"they are in {folder}; to try again: cliffwatch upload {folder} --url {client.url}",
    )
    return print_failures([failure], console)
