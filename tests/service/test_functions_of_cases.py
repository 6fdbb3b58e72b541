"""The functions behind a row, on the page of its case: from the raw outputs of its boots,
whoever made them.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from service_running import Running

from cliffwatch.comparing.compare_run import compare_run, sides_of_run
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import read_run
from cliffwatch.reports.context import context_of_run, with_functions
from cliffwatch.reports.json_report import comparison_document
from cliffwatch_runner.upload.result_directory import upload_run

CASE = "local-storage/local-storage-cache-seq-get/nr_maps=16"
COUNTS = "functions.json"
TITLE = "Functions behind the changes, in instructions per operation"
FORMS = {
    "": TITLE,
    ".txt": TITLE,
    ".commit": "instructions per operation",
    ".md": TITLE,
    ".json": '"functions"',
}


@pytest.fixture
def results(data: Path, tmp_path: Path) -> Path:
    shutil.copytree(data / "runs/uninlined", tmp_path / "results")
    return tmp_path / "results"


def page_of(running: Running, folder: Path) -> str:
    uploaded = upload_run(running.client("upload"), folder, "emulator-1")
    with running.http(None) as http:
        answer = http.get(f"/compare/{uploaded.run}/cases/{CASE}", follow_redirects=True)
    answer.raise_for_status()
    return re.sub(r"\s+", " ", answer.text)


@pytest.mark.parametrize(("form", "heading"), FORMS.items())
def test_every_form_of_a_comparison_says_which_functions_are_behind_it(
    running: Running, results: Path, form: str, heading: str
) -> None:
    uploaded = upload_run(running.client("upload"), results, "emulator-1")
    with running.http(None) as http:
        answer = http.get(f"/compare/{uploaded.run}{form}", follow_redirects=True)
    answer.raise_for_status()

    assert heading in answer.text
    assert "bpf_local_storage_lookup" in answer.text
    assert "__bpf_task_storage_get" in answer.text


def test_the_document_of_a_run_has_the_functions_that_the_host_found(running: Running, results: Path) -> None:
    uploaded = upload_run(running.client("upload"), results, "emulator-1")
    with running.http(None) as http:
        (of_target,) = http.get(f"/compare/{uploaded.run}.json", follow_redirects=True).json()["targets"]
    of_run = running.get(f"/runs/{uploaded.run}/comparison")
    run = read_run(results)
    assert not isinstance(run, Failure)
    compared = compare_run(sides_of_run(run))
    assert not isinstance(compared, Failure)
    own = comparison_document(compared, with_functions(context_of_run(run), [compared]))

    assert of_run["functions"]
    assert of_run["functions"] == of_target["functions"] == json.loads(msgspec.json.encode(own.functions))


def rewrite(folder: Path, change: Any) -> None:
    for path in folder.glob(f"boots/*/{COUNTS}"):
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))


def test_a_case_shows_the_functions_behind_its_change(running: Running, results: Path) -> None:
    text = page_of(running, results)

    rows = re.findall(r"<tr><td><code>(\w+)</code></td>.*?</tr>", text)
    assert rows == ["bpf_local_storage_lookup", "__bpf_task_storage_get"]
    assert "+9.03 measured, +9.02 in functions" in text
    assert "was part of __bpf_task_storage_get: net +9.00" in text


@pytest.mark.parametrize("form", FORMS)
def test_a_case_without_a_change_says_which_function_it_hides(
    running: Running, results: Path, form: str
) -> None:
    """Where nothing below a tenth is reported, no case of this run changed."""
    run = json.loads((results / "run.json").read_text())
    run["plan"]["notable"] = 0.1
    (results / "run.json").write_text(json.dumps(run))

    uploaded = upload_run(running.client("upload"), results, "emulator-1")
    with running.http(None) as http:
        answer = http.get(f"/compare/{uploaded.run}{form}", follow_redirects=True)

    said = re.sub(r"\s+", " ", answer.text.replace("\\", ""))
    assert "bpf_local_storage_lookup" in said
    moved = "unchanged; moved from __bpf_task_storage_get to bpf_local_storage_lookup, net +9.00"
    expected = {".json": '"sources":["__bpf_task_storage_get"],"targets":["bpf_local_storage_lookup"]'}
    assert expected.get(form, moved) in said


def test_a_case_without_counts_shows_none(running: Running, results: Path) -> None:
    for path in results.glob(f"boots/*/{COUNTS}"):
        path.unlink()

    assert "instructions per operation" not in page_of(running, results)


def test_names_that_are_markup_stay_text(running: Running, results: Path) -> None:
    evil = "<script>alert(1)</script>"

    def rename(document: Any) -> None:
        for function in document["functions"]:
            if function["name"] == "bpf_local_storage_lookup":
                function["name"] = evil

    rewrite(results, rename)

    text = page_of(running, results)
    assert evil not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"format": "cliffwatch-function-counts"}',
        b"\xff" * 100,
        b"[" * 100_000,
        b'{"functions": "' + b"x" * (17 << 20) + b'"}',
    ],
    ids=["empty", "list", "incomplete", "no-text", "nested", "large"],
)
def test_counts_that_are_none_are_as_if_they_were_not_there(
    running: Running, results: Path, content: bytes
) -> None:
    for path in results.glob(f"boots/*/{COUNTS}"):
        path.write_bytes(content)

    assert "instructions per operation" not in page_of(running, results)


def test_places_outside_the_table_are_left_out(running: Running, results: Path) -> None:
    def misplace(document: Any) -> None:
        for case in document["cases"]:
            case["counts"] = [[150_000, 10**9], *case["counts"]]

    rewrite(results, misplace)

    assert "+9.03 measured, +9.02 in functions" in page_of(running, results)


def test_a_large_archive_is_read_no_further_than_its_file(running: Running, results: Path) -> None:
    """What else a boot left behind does not change what is shown."""
    (results / "boots" / "001-base" / "1" / "console").write_bytes(b"x" * (4 << 20))

    assert "+9.03 measured, +9.02 in functions" in page_of(running, results)


def functions_of(running: Running, run: str) -> set[str]:
    with running.http(None) as http:
        (target,) = http.get(f"/compare/{run}.json", follow_redirects=True).json()["targets"]
    return {each["functions"][0]["name"] for each in target["functions"]}


def test_code_that_comes_after_the_comparison_is_in_the_next_one(running: Running, results: Path) -> None:
    """A host sends the boots of a job as they are done, and how the code differs at the end."""
    aside = (results / "code.json").rename(results.parent / "code.json")
    run = json.loads((results / "run.json").read_text())
    run["plan"]["notable"] = 0.1
    (results / "run.json").write_text(json.dumps(run))
    uploaded = upload_run(running.client("upload"), results, "emulator-1")
    assert functions_of(running, uploaded.run) == set()

    aside.rename(results / "code.json")
    upload_run(running.client("upload"), results, "emulator-1")

    assert functions_of(running, uploaded.run) == {"bpf_local_storage_lookup"}


def test_a_case_shows_where_its_instructions_are_executed(running: Running, results: Path) -> None:
    """Base over head on one scale; the function that went out of line is in head alone."""
    text = page_of(running, results)
    base, head = re.findall(r'<div class="side">.*?</svg> ?</div>', text)

    assert "kernel" in base
    assert "<title>bpf_local_storage_lookup: base 0.00, head 12" in head
    assert "bpf_local_storage_lookup" not in base
    assert re.search(r'class="more"[^>]*/><text x="4" y="14">bpf_local_storage_lookup<', head)
    assert re.search(r"kernel [\d.]+ to [\d.]+, BPF programs ([\d.]+) to \1", text)
