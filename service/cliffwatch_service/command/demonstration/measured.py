"""Real runs: seven pairs of patched kernels (examples/demonstration), measured in icount.

tools/pack_demonstration.py packs them into measured.tar.zst.
"""

import io
import tarfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib import resources

import orjson
import zstandard

from cliffwatch.formats.code.differences import CodeRecord
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.run_reading import read_run_record
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson
from cliffwatch_service.command.demonstration.demo_run import DemoBoot, DemoRun

HOST = "emulator-1"
_OWN = ("boot.json", "environment.json", "samples.json")


def measured_runs(now: datetime) -> list[DemoRun]:
    """Returns the runs in the order of their revisions, one per hour. The last was received an hour ago."""
    files = _files()
    names = sorted({name.partition("/")[0] for name in files})
    return [
        DemoRun(
            HOST,
            _record(files[f"{name}/run.json"]),
            list(_boots(files, name)),
            now - timedelta(hours=len(names) - index),
            _code(files.get(f"{name}/code.json")),
        )
        for index, name in enumerate(names)
    ]


def _record(content: bytes) -> RunRecord:
    record = read_run_record(content)
    assert isinstance(record, RunRecord), record
    return record


def _code(content: bytes | None) -> CodeRecord | None:
    if content is None:
        return None
    code = read_as(content, CodeRecord)
    assert isinstance(code, CodeRecord), code
    return code


def _files() -> dict[str, bytes]:
    packed = (resources.files("cliffwatch_service.command.demonstration") / "measured.tar.zst").read_bytes()
    content = zstandard.ZstdDecompressor().decompress(packed)
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {member.name: _read(tar, member) for member in tar if member.isreg()}


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def _boots(files: dict[str, bytes], run: str) -> Iterator[DemoBoot]:
    folders = sorted({name.split("/")[2] for name in files if name.startswith(f"{run}/boots/")})
    for folder in folders:
        path = f"{run}/boots/{folder}/"
        about, environment, results = (orjson.loads(files[path + name]) for name in _OWN)
        upload: FreeJson = {
            "boot": about,
            "environment": environment,
            **{name: results[name] for name in ("samples", "outcomes", "problems")},
        }
        raw = {name.removeprefix(path): content for name, content in files.items() if name.startswith(path)}
        yield DemoBoot(
            about["index"], upload, _archive({name: raw[name] for name in raw if name not in _OWN})
        )


def _archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
