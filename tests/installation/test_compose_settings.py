"""docker-compose.yml takes every setting of the service, and its logs do not fill the disk."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cliffwatch_service.runtime.setting_errors import PREFIX
from cliffwatch_service.runtime.settings import Settings, read_settings

ROOT = Path(__file__).parents[2]
OF_COMPOSE = {"DATABASE_URL", "CLIFFWATCH_DATA_DIR"}
"""Set by the composition itself."""


@pytest.fixture(scope="module")
def composed() -> Any:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def names_in(file: str) -> set[str]:
    return set(re.findall(r"^#?([A-Z_]+)=", (ROOT / file).read_text(), re.MULTILINE))


def test_every_setting_can_be_given(composed: Any) -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields if name != "database_url"}
    by_env = set(composed["x-settings"])
    assert names_in("service.env.example") == known - by_env - OF_COMPOSE
    for name in ("service", "tasks"):
        assert composed["services"][name]["env_file"] == [{"path": "service.env", "required": False}]
        assert set(composed["services"][name]["environment"]) == by_env


def test_the_examples_are_what_is_valid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for line in (ROOT / "service.env.example").read_text().splitlines():
        name, equals, value = line.removeprefix("#").partition("=")
        if equals and value and name.isupper():
            monkeypatch.setenv(name, value)
    plain = Settings(data_dir=tmp_path)
    assert read_settings(data_dir=tmp_path).model_dump() == plain.model_dump()


def test_every_log_is_bounded(composed: Any) -> None:
    unbounded = [
        name
        for name, service in composed["services"].items()
        if service.get("logging", {}).get("options") != {"max-size": "20m", "max-file": "5"}
    ]
    assert unbounded == []
