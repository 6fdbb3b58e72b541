"""The same content gives the same verdicts, digit by digit, whatever it came through."""

import base64
import json
import quopri
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from wrapped_up import CONTAINERS, ENCODINGS

from cliffwatch.command.main import main
from cliffwatch.importing import ImportedFile, import_content, import_file
from cliffwatch.parsers.received.unpacking import unpack
from cliffwatch.samples import Arm

DATA = Path(__file__).parents[1] / "data"
FILES = sorted(
    path
    for path in DATA.rglob("*")
    if path.is_file()
    and path.suffix in (".out", ".err", ".txt", ".csv", ".json")
    and path.stat().st_size < 1 << 18
)
SIDES = sorted(folder for folder in (DATA / "inputs").iterdir() if list(folder.glob("base.*")))


def quoted(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.splitlines())


def in_mail(body: str, *headers: str) -> str:
    first = ("From: a@example.org", "Subject: Re: numbers", "MIME-Version: 1.0")
    return "\n".join([*first, *headers, "", body])


def multipart(text: str) -> str:
    attached = base64.encodebytes(text.encode()).decode()
    return in_mail(
        "Numbers are attached.\n--b=\n\n--=b\nContent-Type: text/plain; charset=utf-8; name=out.txt\n"
        f"Content-Transfer-Encoding: base64\n\n{attached}\n--=b--\nOver.",
        'Content-Type: multipart/mixed; boundary="=b"',
    )


def qp(text: str) -> str:
    return quopri.encodestring(text.encode()).decode()


def flowed(text: str) -> str:
    """Each line broken at its last blank before column 60."""
    lines = []
    for line in text.splitlines():
        rest = line.rstrip() if line != "-- " else line
        while len(rest) > 60 and (at := rest.rfind(" ", 0, 60)) > 0:
            lines.append(rest[: at + 1])
            rest = rest[at + 1 :]
        lines.append(rest)
    return "\n".join(lines)


def stamped(stamp: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{stamp}{line}\n" for line in text.splitlines())


WAYS: Mapping[str, Callable[[str], str]] = {
    "CRLF": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    "GitHub's log": stamped("2024-01-02T03:04:05.1234567Z "),
    "gh run view --log": stamped("bench\tRun it\t2024-01-02T03:04:05.1234567Z "),
    "GitLab's log": stamped("2024-01-02T03:04:05.123456Z 00O "),
    "Jenkins' log": stamped("[2024-01-02T03:04:05.123Z] "),
    "Jenkins' clock": stamped("03:04:05  "),
    "Buildkite's log": stamped("\x1b_bk;t=1704164645123\x07"),
    "journald": stamped("Jan 02 03:04:05 host bench[123]: "),
    "journald in ISO": stamped("2024-01-02T03:04:05+0000 host bench[123]: "),
    "kubectl": stamped("2024-01-02T03:04:05.123456789Z "),
    "ts": stamped("Jan  2 03:04:05 "),
    "ts -s": stamped("00:00:05 "),
    "ts in seconds": stamped("1704164645.123456 "),
    "a mail": in_mail,
    "quoted-printable": lambda text: in_mail(
        qp(text), "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable"
    ),
    "base64": lambda text: in_mail(
        base64.encodebytes(text.encode()).decode(),
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: base64",
    ),
    "an attachment": multipart,
    "a mailbox": lambda text: f"From mboxrd@z Thu Jan  1 00:00:00 1970\n{in_mail(text)}",
    "format=flowed": lambda text: in_mail(
        flowed(text), "Content-Type: text/plain; charset=utf-8; format=flowed"
    ),
}


def measured(arm: Arm) -> list[object]:
    return [
        (boot.index, boot.samples, [(each.case, each.status) for each in boot.outcomes]) for boot in arm.boots
    ]


def held(content: bytes) -> object:
    """All that a comparison takes of a file; of one that holds nothing, that it does."""
    unpacked = unpack(content, "a")
    imported = import_content(unpacked, "a") if isinstance(unpacked, bytes) else unpacked
    if not isinstance(imported, ImportedFile):
        return None
    about = (imported.notable, imported.stages, imported.one_run, imported.run)
    return about, {
        name: (measured(arm), arm.mode, arm.platform, arm.assumed) for name, arm in imported.arms.items()
    }


def id_of(path: Path) -> str:
    return str(path.relative_to(DATA))


@pytest.mark.parametrize("path", FILES, ids=id_of)
def test_containers_and_encodings_change_nothing(path: Path) -> None:
    content = path.read_bytes()
    plain = held(content)

    assert all(held(pack(content)) == plain for pack in CONTAINERS.values())
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    lossless = (encode(text) for encode in ENCODINGS.values())
    assert [held(each) == plain for each in lossless if text.isascii() or b"?" not in each].count(False) == 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".out"], ids=id_of)
def test_logs_and_mail_change_no_output_of_bench(path: Path, way: str) -> None:
    assert held(WAYS[way](path.read_text()).encode()) == held(path.read_bytes())


@pytest.mark.parametrize("way", [way for way in WAYS if way != "format=flowed"])
@pytest.mark.parametrize("folder", SIDES, ids=lambda folder: folder.name)
def test_logs_and_mail_change_no_verdict(folder: Path, way: str, tmp_path: Path) -> None:
    names = [next(folder.glob(f"{side}.*")) for side in ("base", "head")]
    sent = [tmp_path / path.name for path in names]
    for path, name in zip(names, sent, strict=True):
        name.write_bytes(WAYS[way](path.read_text()).encode())

    assert compared(*sent) == compared(*names)


def compared(*names: Path) -> list[object]:
    ended = CliRunner().invoke(
        main, ["compare", *map(str, names), "--format", "json"], catch_exceptions=False
    )
    rows: list[object] = json.loads(ended.stdout)["comparisons"]
    assert rows
    return rows


def test_the_files_are_the_ones_that_people_compare() -> None:
    assert len(FILES) > 80
    assert sum(isinstance(import_file(path), ImportedFile) for path in FILES) > 50
