"""A run of several arms at a service: all of it is stored and given away, and nothing is said of it that is
not so.
"""

import json
import shutil
from pathlib import Path

import pytest
from service_running import Running

from cliffwatch.importing import ImportedFile, import_file
from cliffwatch_runner.upload.result_directory import upload_run


@pytest.fixture
def three_arms(data: Path, tmp_path: Path) -> Path:
    """A recorded run with its arms under other names, and a third one that is the second again."""
    folder = tmp_path / "arms"
    shutil.copytree(data / "runs/uninlined", folder)
    content = json.loads((folder / "run.json").read_text())
    named = {"base": "plain", "head": "v2"}
    content["arms"] = [{**arm, "name": named[arm["name"]]} for arm in content["arms"]]
    content["arms"].append({**content["arms"][1], "name": "v3"})
    boots = content["plan"]["boots"]
    content["plan"]["boots"] = [{**boot, "arm": named[boot["arm"]]} for boot in boots]
    content["plan"]["boots"].append({**content["plan"]["boots"][1], "index": 3, "arm": "v3"})
    content["identity"] = "5" * 32
    (folder / "run.json").write_text(json.dumps(content))
    shutil.copytree(folder / "boots/002-head", folder / "boots/003-v3")
    for name, index, arm in (("001-base", 1, "plain"), ("002-head", 2, "v2"), ("003-v3", 3, "v3")):
        path = folder / "boots" / name / "boot.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "index": index, "arm": arm}))
        if name != f"{index:03d}-{arm}":
            (folder / "boots" / name).rename(folder / "boots" / f"{index:03d}-{arm}")
    return folder


def test_every_arm_is_stored_and_exported(running: Running, three_arms: Path, tmp_path: Path) -> None:
    uploaded = upload_run(running.client("upload"), three_arms, "emulator-1")

    assert not getattr(uploaded, "refused", True), uploaded
    (listed,) = running.get("/runs")["items"]
    with running.http(None) as http:
        text = (
            http.get(f"/api/v1/runs/{listed['run']}/export", params={"format": "csv"})
            .raise_for_status()
            .content
        )
    (tmp_path / "export.csv").write_bytes(text)
    back = import_file(tmp_path / "export.csv")
    assert isinstance(back, ImportedFile)
    assert list(back.arms) == ["plain", "v2", "v3"]
    assert [len(arm.boots) for arm in back.arms.values()] == [1, 1, 1]


def test_its_arms_are_compared_with_the_first_one_on_a_page_and_for_programs(
    running: Running, three_arms: Path
) -> None:
    upload_run(running.client("upload"), three_arms, "emulator-1")
    running.do_tasks()
    (listed,) = running.get("/runs")["items"]
    address = f"/compare/{listed['run']}"
    with running.http(None) as http:
        page = http.get(f"/runs/{listed['run']}")
        chosen = http.get("/compare")
        compared = http.get(address)
        forms = {suffix: http.get(f"{address}{suffix}") for suffix in (".txt", ".md", ".commit", ".json")}

    assert page.status_code == 200
    assert all(name in page.text for name in ("plain", "v2", "v3"))
    assert f'href="{address}"' in page.text
    assert chosen.status_code == 200
    assert "one arm" not in chosen.text
    assert compared.status_code == 200
    assert "3 arms, each against plain" in compared.text
    assert {suffix: form.status_code for suffix, form in forms.items()} == dict.fromkeys(forms, 200)
    assert "3 arms, each against plain" in forms[".txt"].text
    document = running.get(f"/runs/{listed['run']}/comparison")
    assert forms[".json"].json() == document
    assert [arm["name"] for arm in document["arms"]] == ["plain", "v2", "v3"]
    verdicts = {
        arm: [row["verdict"] for row in document["comparisons"] if row["arm"] == arm] for arm in ("v2", "v3")
    }
    assert verdicts["v2"] == verdicts["v3"]
    assert "regression" in verdicts["v2"]


def test_a_run_whose_last_boots_are_not_here_is_not_compared_yet(running: Running, three_arms: Path) -> None:
    content = json.loads((three_arms / "run.json").read_text())
    (three_arms / "run.json").write_text(json.dumps({**content, "status": "running"}))
    upload_run(running.client("upload"), three_arms, "emulator-1")
    running.do_tasks()
    (listed,) = running.get("/runs")["items"]
    with running.http(None) as http:
        compared = http.get(f"/compare/{listed['run']}")

    assert compared.status_code == 404
    assert "its last boots are not here" in compared.text
