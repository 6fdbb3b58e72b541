"""Every command in every locale: a report comes out, with other characters where the locale has not these."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main
from cliffwatch.command.report_options import FORMATS

DATA = Path(__file__).parents[1] / "data/inputs/latin1-locale"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
FOR_PROGRAMS = ("json", "html", "go-bench")
SIDES = (str(DATA / "a.txt"), str(DATA / "b.txt"))


def cliffwatch(
    *words: str | Path | bytes, env: dict[str, str], folder: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """A command in a locale, with its output in a pipe."""
    ours = {
        name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))
    }
    argv = [sys.executable, "-m", "cliffwatch.command", *(os.fspath(word) for word in words)]
    return subprocess.run(
        argv, capture_output=True, check=False, env={**ours, "TERM": "dumb", **env}, cwd=folder
    )


@pytest.fixture(scope="session")
def german(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a real 8-bit locale."""
    if shutil.which("localedef") is None or not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("localedef and the sources of locales are not installed: make test-programs")
    folder = tmp_path_factory.mktemp("locales")
    subprocess.run(["localedef", "-i", "de_DE", "-f", "ISO-8859-1", str(folder / "de_DE")], check=True)
    return {"LOCPATH": str(folder), "LC_ALL": "de_DE"}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1", "cp437", "koi8-r", "utf-8"])
def test_a_report_is_written_in_every_encoding_of_output(encoding: str, form: str) -> None:
    ended = CliRunner(charset=encoding).invoke(
        main, ["compare", "--format", form, *SIDES], catch_exceptions=False
    )

    assert ended.exit_code == 0, ended.stderr
    text = ended.stdout_bytes.decode("utf-8" if form in FOR_PROGRAMS else encoding)
    assert "Add" in text
    if form == "benchstat":
        assert ("±" if encoding in ("iso-8859-1", "cp437", "utf-8") else "+-") in text


@pytest.mark.parametrize(
    "env", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, ASCII, {"PYTHONIOENCODING": "ascii"}], ids=str
)
def test_a_report_is_written_in_the_locale_of_services_and_containers(env: dict[str, str]) -> None:
    ended = cliffwatch("compare", *SIDES, env=env)

    assert ended.returncode == 0, ended.stderr
    assert b"slower" in ended.stdout


@pytest.mark.parametrize("form", ["text", "commit", "markdown", "html", "benchstat"])
def test_a_report_is_written_in_a_real_locale_of_8_bits(form: str, german: dict[str, str]) -> None:
    ended = cliffwatch("compare", "--format", form, *SIDES, env=german)

    assert ended.returncode == 0, ended.stderr
    assert "Add" in ended.stdout.decode(
        "utf-8" if form == "html" else "ascii" if form == "text" else "iso-8859-1"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("suites",),
        ("suites", "show", "local-storage"),
        ("parse", SIDES[0]),
        ("--help",),
        ("run", "--help"),
        ("compare", "--no-such-option"),
        ("cache", "list", "--cache", "nothing-here"),
        ("run", "--tree", "nothing-here", "--base", "a", "--head", "b"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
def test_every_command_speaks_in_every_encoding(words: tuple[str, ...], encoding: str) -> None:
    ended = CliRunner(charset=encoding).invoke(main, words, catch_exceptions=False)

    assert ended.exit_code in (0, 2), ended.stderr
    (ended.stdout_bytes + ended.stderr_bytes).decode(encoding)


def test_doctor_speaks_in_a_locale_of_8_bits(german: dict[str, str], tmp_path: Path) -> None:
    ended = cliffwatch("doctor", "--mode", "icount", env={**german, "HOME": str(tmp_path)})

    assert ended.returncode in (0, 4), ended.stderr
    assert b"Traceback" not in ended.stderr
    assert "To build a kernel" in ended.stdout.decode("iso-8859-1")


def test_files_are_utf_8_in_every_locale(tmp_path: Path, german: dict[str, str]) -> None:
    (tmp_path / "ü.txt").write_text(
        "".join(f"arm: {arm}\nBenchmarkÜ 1 5 µs/op\n" for arm in ("base", "head")), "utf-8"
    )
    written = [
        cliffwatch(
            "compare", "ü.txt", "--format", "markdown", "--report-out", out, env=env, folder=tmp_path
        ).returncode
        for out, env in (("one", german), ("two", {"LC_ALL": "C.UTF-8"}))
    ]

    assert written == [0, 0]
    one, two = (tmp_path / "one").read_bytes(), (tmp_path / "two").read_bytes()
    assert one.count("Ü".encode()) == two.count("Ü".encode()) > 0


@pytest.mark.parametrize("form", FORMATS)
def test_a_name_that_is_no_text_is_shown_with_replacements(form: str, tmp_path: Path) -> None:
    name = str(tmp_path / "a\udcff.txt")
    Path(name).write_bytes((DATA / "a.txt").read_bytes())

    ended = CliRunner().invoke(main, ["compare", name, SIDES[1], "--format", form], catch_exceptions=False)
    assert ended.exit_code == 0, ended.stderr
    assert "Add" in ended.stdout_bytes.decode()

    missing = CliRunner().invoke(
        main, ["compare", name + "x", SIDES[1], "--format", form], catch_exceptions=False
    )
    assert missing.exit_code == 2
    assert "a\N{REPLACEMENT CHARACTER}.txt" in missing.stderr_bytes.decode()
