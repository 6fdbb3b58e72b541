"""How the code of a run's kernels differs: code.json comes with a run's results, and the page of a case shows
it.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from service_running import Running

from cliffwatch.failure import HttpFailure
from cliffwatch_runner.upload.result_directory import Uploaded, upload_run

CASE = "local-storage/local-storage-cache-seq-get/nr_maps=16"


@pytest.fixture
def results(data: Path, tmp_path: Path) -> Path:
    shutil.copytree(data / "runs/uninlined", tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def uploaded(running: Running, results: Path) -> str:
    sent = upload_run(running.client("upload"), results, "emulator-1")
    assert isinstance(sent, Uploaded)
    assert sent.refused == ()
    return sent.run


def page_of(running: Running, run: str) -> str:
    with running.http(None) as http:
        answer = http.get(f"/compare/{run}/cases/{CASE}", follow_redirects=True).raise_for_status()
    return re.sub(r"\s+", " ", answer.text)


def code_of(results: Path) -> Any:
    return json.loads((results / "code.json").read_text())


def test_the_page_of_a_case_shows_the_instructions_that_differ(running: Running, uploaded: str) -> None:
    page = page_of(running, uploaded)

    assert "code 256 to 144 bytes" in page
    assert page.count("how its code differs") == 2
    assert "+call bpf_local_storage_lookup" in page


def compared(running: Running, run: str) -> str:
    with running.http(None) as http:
        answer = http.get(f"/compare/{run}", follow_redirects=True).raise_for_status()
    return re.sub(r"\s+", " ", answer.text)


def test_the_page_of_a_comparison_says_which_functions_differ(running: Running, uploaded: str) -> None:
    page = compared(running, uploaded)

    assert "Code of head: " in page
    assert "__bpf_task_storage_get (256 to 144 bytes)" in page


def test_the_page_of_a_comparison_without_code_says_nothing_of_it(running: Running, results: Path) -> None:
    (results / "code.json").unlink()
    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    assert "Code of head" not in compared(running, sent.run)


def test_what_was_sent_is_read_back(running: Running, results: Path, uploaded: str) -> None:
    with running.http("read") as http:
        answer = http.get(f"/api/v1/runs/{uploaded}/code").raise_for_status().json()
        missing = http.get(f"/api/v1/runs/{32 * '0'}/code")

    assert [each["name"] for each in answer["arms"][0]["functions"]] == [
        each["name"] for each in code_of(results)["arms"][0]["functions"]
    ]
    assert missing.status_code == 404


def test_the_same_may_come_twice_and_another_one_may_not(
    running: Running, results: Path, uploaded: str
) -> None:
    again = upload_run(running.client("upload"), results, "emulator-1")
    (results / "code.json").write_text(json.dumps({**code_of(results), "arms": []}))
    other = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(again, Uploaded)
    assert again.refused == ()
    assert isinstance(other, Uploaded)
    assert "a run does not change" in other.refused[0]


def line(text: str, name: str = "__bpf_task_storage_get") -> dict[str, Any]:
    function = {"name": name, "base": 1, "head": 2, "lines": [text], "more": 0}
    return {
        "format": "cliffwatch-code",
        "format_version": 1,
        "arms": [{"arm": "head", "functions": [function]}],
    }


def test_lines_that_are_markup_or_move_a_cursor_stay_text(running: Running, results: Path) -> None:
    (results / "code.json").write_text(json.dumps(line("+<script>alert(1)</script>\x1b[2J\u202e")))
    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    page = page_of(running, sent.run)
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_a_name_that_is_markup_stays_text_in_the_sentence(running: Running, results: Path) -> None:
    (results / "code.json").write_text(json.dumps(line("+ret", name="<script>alert(1)</script>\u202e")))
    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    page = compared(running, sent.run)
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "\u202e" not in page


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format": "cliffwatch-code", "format_version": 1, "arms": 5}',
        b"\xff" * 100,
        json.dumps(line("x" * 401)).encode(),
        json.dumps({**line("x"), "format_version": 2}).encode(),
    ],
)
def test_what_is_no_code_is_refused_and_the_run_stays(
    running: Running, results: Path, content: bytes
) -> None:
    (results / "code.json").write_bytes(content)

    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    assert len(sent.refused) == 1
    assert "instructions per operation" in page_of(running, sent.run)


def test_much_more_than_a_patch_changes_is_refused_unless_it_is_sent_shorter(
    running: Running, results: Path
) -> None:
    functions = [
        {"name": f"f{number}", "base": 1, "head": 2, "lines": ["x" * 400] * 200} for number in range(60)
    ]
    whole = {
        "format": "cliffwatch-code",
        "format_version": 1,
        "arms": [{"arm": "head", "functions": functions}],
    }
    (results / "code.json").unlink()
    client = running.client("upload")
    sent = upload_run(client, results, "emulator-1")
    assert isinstance(sent, Uploaded)
    refused = client.put(f"/runs/{sent.run}/code", json.dumps(whole).encode())

    assert isinstance(refused, HttpFailure)
    assert refused.status == 413
    assert "at most 4,194,304 are stored" in refused.message
    (results / "code.json").write_text(json.dumps(whole))
    again = upload_run(client, results, "emulator-1")
    assert isinstance(again, Uploaded)
    assert again.refused == ()
    assert again.lacks.endswith("lines of each function and program")


def program(text: str = "+nop dword ptr [rax]", name: str = "get_local", **more: Any) -> dict[str, Any]:
    """code.json of a run in whose case a BPF program differs."""
    case = {"suite": "local-storage", "benchmark": "local-storage-cache-seq-get", "params": {"nr_maps": "16"}}
    sizes = {"base": 412, "head": 436, "base_instructions": 96, "head_instructions": 97}
    different = {"name": name, "cases": [case], **sizes, "lines": ["@@ -5,0 +6 @@", text], **more}
    digests = {**case, "names": 2, "base": 8 * "0", "head": 8 * "1"}
    arm = {"arm": "head", "functions": [], "programs": [different], "case_programs": [digests]}
    return {"format": "cliffwatch-code", "format_version": 1, "arms": [arm]}


def test_bpf_programs_that_differ_stand_on_the_page_of_their_case(running: Running, results: Path) -> None:
    (results / "code.json").write_text(json.dumps(program()))
    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    page = page_of(running, sent.run)
    assert "BPF programs that differ" in page
    assert "<code>get_local</code>: 412 to 436 bytes, 96 to 97 instructions" in page
    assert "+nop dword ptr [rax]" in page
    assert "BPF programs: get_local 412 to 436 bytes." in compared(running, sent.run)


def test_a_case_whose_programs_are_the_same_says_nothing_of_them(running: Running, results: Path) -> None:
    document = program()
    document["arms"][0]["programs"][0]["cases"][0]["params"] = {"nr_maps": "17"}
    (results / "code.json").write_text(json.dumps(document))
    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    assert "BPF programs that differ" not in page_of(running, sent.run)


def test_programs_that_are_markup_or_move_a_cursor_stay_text(running: Running, results: Path) -> None:
    hostile = "<script>alert(1)</script>\u202e"
    (results / "code.json").write_text(json.dumps(program(f"+{hostile}\x1b[2J", hostile)))
    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    for page in (page_of(running, sent.run), compared(running, sent.run)):
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert(1)" not in page
        assert "\x1b" not in page
        assert "\u202e" not in page


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "\x1b[2J"},
        {"name": ""},
        {"base": -1},
        {"lines": ["x" * 401]},
        {"lines": ["x"] * 201},
        {"cases": [{"suite": "s"}]},
    ],
)
def test_programs_that_are_none_are_refused(running: Running, results: Path, wrong: dict[str, Any]) -> None:
    (results / "code.json").write_text(json.dumps(program(**{"name": "get", **wrong})))

    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    assert len(sent.refused) == 1


def with_digests(results: Path, base: str, head: str) -> None:
    """What a host says of the case's code."""
    suite, benchmark, params = CASE.split("/")
    name, value = params.split("=")
    digests = {
        "functions": 4321,
        "names": 24 * "0",
        "arms": [{"arm": "base", "digest": base}, {"arm": "head", "digest": head}],
    }
    case = {"suite": suite, "benchmark": benchmark, "params": {name: value}, "code": digests}
    (results / "code.json").write_text(json.dumps({**code_of(results), "cases": [case]}))


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (
            24 * "a",
            (
                "yes, <code>aaaaaaaaaaaa</code>, by 4,321 executed functions: equal kernels: any difference is noise"
            ),
        ),
        (
            24 * "b",
            "no, base <code>aaaaaaaaaaaa</code>, head <code>bbbbbbbbbbbb</code>, by 4,321 executed functions",
        ),
    ],
)
def test_the_page_of_a_case_says_whether_it_executes_the_code_of_its_base(
    running: Running, results: Path, head: str, said: str
) -> None:
    with_digests(results, 24 * "a", head)

    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    assert sent.refused == ()
    assert said in page_of(running, sent.run)


def test_a_run_without_digests_says_nothing_of_them(running: Running, uploaded: str) -> None:
    assert "same code as the base" not in page_of(running, uploaded)


@pytest.mark.parametrize("digest", ["", "a", 24 * "A", 25 * "a", "<script>alert(1)</script>"])
def test_what_is_no_digest_is_refused(running: Running, results: Path, digest: str) -> None:
    with_digests(results, 24 * "a", digest)

    sent = upload_run(running.client("upload"), results, "emulator-1")

    assert isinstance(sent, Uploaded)
    assert len(sent.refused) == 1
