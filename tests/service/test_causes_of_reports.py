"""A regression report says which functions are behind it: on its page, in the API, and in its news."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from service_running import Running

from cliffwatch_runner.upload.result_directory import upload_run
from cliffwatch_service.compare.causes import causes_between
from cliffwatch_service.history.news.webhook import body_of
from cliffwatch_service.history.news.wording import NewsContent, mail_text
from cliffwatch_service.store.history.news.outbox import NewsRow

BASE, HEAD = "f95f0ea68abaaa1533374e4a873ed0ec2587a64a", "efa5a3966d84ceca7d927ce53d5871c9e56e0128"
REPORT = "0" * 32


@pytest.fixture
def compared(running: Running, data: Path, tmp_path: Path) -> Any:
    """The demonstration's run, whose two commits are a report's."""
    shutil.copytree(data / "runs/uninlined", tmp_path / "results")
    uploaded = upload_run(running.client("upload"), tmp_path / "results", "emulator-1")
    with running.http(None) as http:
        http.get(f"/compare/{uploaded.run}.json", follow_redirects=True).raise_for_status()
    with psycopg.connect(running.database) as connection:
        connection.execute(
            "INSERT INTO regression_report (digest, base_revision_id, head_revision_id, state, opened,"
            " updated) SELECT %s, base.id, head.id, 'new', now(), now() FROM revision AS base, revision AS"
            " head WHERE base.commit = %s AND head.commit = %s",
            [REPORT, BASE, HEAD],
        )
    return running


def test_the_page_and_the_api_say_why(compared: Any) -> None:
    with compared.http(None) as http:
        answer = http.get(f"/regressions/{REPORT}")
    answer.raise_for_status()
    text = re.sub(r"\s+", " ", answer.text)

    assert "Functions behind the changes, in instructions per operation" in text
    assert "<code>bpf_local_storage_lookup</code>" in text
    found = compared.get(f"/reports/{REPORT}")["functions"]
    assert found[0]["functions"][0]["name"] == "bpf_local_storage_lookup"


def test_news_say_why(compared: Any) -> None:
    with psycopg.connect(compared.database) as connection:
        causes = causes_between(connection, BASE, HEAD)
        assert causes_between(connection, HEAD, BASE) == ()
    news = NewsRow(
        id=1,
        digest="d",
        kind="new",
        at=datetime(2026, 11, 26, tzinfo=UTC),
        report=REPORT,
        report_id=1,
        written=datetime(2026, 11, 26, tzinfo=UTC),
        state="new",
        base=BASE,
        head=HEAD,
        named=True,
        subject="bpf: Take the local storage lookup out of line",
        author="Cliffwatch",
        fix=None,
        fix_base=None,
        cases=5,
        worst=0.052,
        summary="5 slower (up to 5.2 % more instructions)",
        apart=False,
        platforms=["emulated-x86-64"],
        suites=["local-storage"],
    )
    whole = NewsContent(
        news=news, changes=(), tree=None, page="https://cliffwatch.example.org/r", causes=causes
    )

    text = mail_text(whole)
    assert "local-storage-cache-int-get/nr_maps=16: +9.02 measured, +9.02 in" in text
    assert re.search(r"^  bpf_local_storage_lookup +- +12.00 +\+12.00$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 72
    assert b'"name":"bpf_local_storage_lookup"' in body_of(whole)
