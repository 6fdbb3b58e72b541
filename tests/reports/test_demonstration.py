"""The report of the demonstration, a real run of two kernels, with the cause of its changes in
every format.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner
from golden import assert_golden

from cliffwatch.command.main import main

RUN = Path(__file__).parents[1] / "data/runs/uninlined"
FORMATS = {
    "text": "txt",
    "commit": "commit",
    "markdown": "md",
    "mail": "mail",
    "html": "html",
    "json": "json",
}


@pytest.mark.parametrize(("form", "ending"), FORMATS.items())
def test_every_format_says_what_changed_and_why(
    form: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(RUN.parent)

    ended = CliRunner().invoke(main, ["compare", RUN.name, "--format", form], catch_exceptions=False)

    assert ended.exit_code == 0
    assert "insns/op" in ended.output
    assert "bpf_local_storage_lookup" in ended.output
    assert "ns/op" not in ended.output.replace("insns/op", "")
    assert_golden(f"demonstration.{ending}", ended.stdout)
