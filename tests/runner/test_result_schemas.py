"""The result directory is what docs/formats.md and its schemas say."""

import json
from pathlib import Path

import jsonschema
import pytest
from toy import change, request, run_toy

from cliffwatch.formats.result_directory import Run
from cliffwatch.formats.run_record import RunRecord

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
FORMATS = Path(__file__).parents[2] / "docs" / "formats.md"


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    "behaviour", ["good", "panic-in local-storage-cache-int-get", "panic-at-boot", "garbage"]
)
def test_every_file_of_a_run_fits_its_schema(repository: Path, tmp_path: Path, behaviour: str) -> None:
    change(repository, "behaviour", f"{behaviour}\n\n", "bpf: Change")
    run = run_toy(request(repository, tmp_path, suites=("local-storage", "lpm-trie")))
    assert isinstance(run, Run)

    fits("run", run.path / "run.json")
    for name in ("boot", "samples", "environment"):
        for path in run.path.glob(f"boots/*/{name}.json"):
            fits(name, path)


def fits(schema: str, path: Path) -> None:
    jsonschema.validate(
        json.loads(path.read_text()), json.loads((SCHEMAS / f"{schema}.schema.json").read_text())
    )


def test_every_key_of_run_json_is_explained() -> None:
    text = FORMATS.read_text()
    keys = RunRecord.__struct_fields__

    assert [key for key in keys if f"`{key}`" not in text] == []
