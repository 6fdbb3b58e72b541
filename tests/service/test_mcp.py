"""`cliffwatch mcp`, asked over its standard input by the reference SDK's client: twenty questions."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent
from pages_named import COMPARISON
from service_running import Running

BASE, CULPRIT = COMPARISON.split("...")
MOST_CALLS = 3
MOST_TOKENS = 4000
BYTES_PER_TOKEN = 3
"""Fewer than tokenizers make of JSON, so that the limit holds for each of them."""

Ask = Callable[..., Any]


class Asked:
    """The answers to the calls of one question."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self.calls = 0
        self.bytes = 0

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        result = await self._session.call_tool(tool, arguments)
        assert not result.is_error, result.content
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert '"url":' in content.text or '"error":' in content.text or tool == "search", content.text
        self.calls += 1
        self.bytes += len(content.text.encode())
        return json.loads(content.text)


async def verdict(ask: Ask) -> Any:
    return (await ask("answer", commit=CULPRIT))["verdict"]


async def worst_case(ask: Ask) -> Any:
    first = (await ask("answer", commit=CULPRIT))["changes"][0]
    return first["case"], first["change"], first["url"].partition("/compare/")[1]


async def cause(ask: Ask) -> Any:
    return "bpf_local_storage_lookup" in (await ask("answer", commit=CULPRIT))["causes"][0]


async def unseen(ask: Ask) -> Any:
    answer = await ask("answer", commit=CULPRIT, platform="emulated-x86-64")
    return answer["targets"][0]["detectable"]


async def unmeasured(ask: Ask) -> Any:
    return (await ask("answer", commit="0123456789abcdef"))["measured"]


async def one_suite(ask: Ask) -> Any:
    answer = await ask("answer", commit=CULPRIT, suite="bloom")
    return answer["verdict"], answer["changes"]


async def one_platform(ask: Ask) -> Any:
    answer = await ask("answer", commit=CULPRIT, platform="amd-rome")
    return answer["targets"][0]["counts"]


async def rows_of_a_suite(ask: Ask) -> Any:
    found = await ask("compare", base=BASE, head=CULPRIT, suite="local-storage", verdict="regression")
    return {row["verdict"] for row in found["rows"]} >= {"regression"} and "left_out" in found


async def one_case(ask: Ask) -> Any:
    found = await ask("compare", base=BASE, head=CULPRIT, text="seq-get nr_maps=16", platform="amd-rome")
    return [row["case"] for row in found["rows"]]


async def compared_with_itself_nowhere(ask: Ask) -> Any:
    return "error" in await ask("compare", base="0123456789", head=CULPRIT)


async def suites_there(ask: Ask) -> Any:
    return {"local-storage", "ringbufs"} <= {item["suite"] for item in (await ask("suites"))["items"]}


async def benchmarks_of_a_suite(ask: Ask) -> Any:
    found = await ask("suites", name="local-storage")
    return "local-storage-cache-seq-get" in {each["benchmark"] for each in found["benchmarks"]}


async def commit_by_words(ask: Ask) -> Any:
    found = await ask("search", text="storage lookup out of line")
    commit = found["revisions"][0]["commit"]
    return commit[:12], (await ask("answer", commit=commit))["verdict"]


async def newest_median(ask: Ask) -> Any:
    found = await ask("search", text="local-storage-cache-seq-get nr_maps=16 emulated")
    history = await ask("history", series=found["series"][0]["series"], points=3)
    return history["metric"], len(history["points"]) > 0, "/series/" in history["url"]


async def open_reports(ask: Ask) -> Any:
    found = await ask("reports", state="new")
    return {item["state"] for item in found["items"]}, "/regressions/" in found["items"][0]["url"]


async def culprit(ask: Ask) -> Any:
    reports = (await ask("reports"))["items"]
    report = next(item for item in reports if item["head"].startswith(CULPRIT))
    return (await ask("report", report=report["report"]))["head"][:12]


async def hosts_there(ask: Ask) -> Any:
    return sorted(item["name"] for item in (await ask("hosts"))["items"])[:2]


async def waiting(ask: Ask) -> Any:
    return {item["state"] for item in (await ask("queue"))["items"]} <= {"queued", "leased"}


async def runs_of_a_commit(ask: Ask) -> Any:
    found = await ask("runs", revision=CULPRIT, platform="amd-rome")
    return {item["platform"] for item in found["items"]}, "/runs/" in found["items"][0]["url"]


async def followed(ask: Ask) -> Any:
    return [item["branch"] for item in (await ask("branches"))["items"]]


QUESTIONS: Sequence[tuple[str, Any, Any]] = (
    ("Did the commit change anything?", verdict, "regression"),
    (
        "Which case got worst, and by how much?",
        worst_case,
        ("local-storage/local-storage-cache-int-get nr_maps=1", 0.0548704, "/compare/"),
    ),
    ("Which function is behind it?", cause, True),
    ("Which size of a change would have been missed?", unseen, 0.009),
    ("Was a commit measured that nobody pushed?", unmeasured, False),
    ("Did the Bloom filter change?", one_suite, ("unchanged", [])),
    ("How many rows got worse on AMD Rome?", one_platform, {"regression": 8, "unchanged": 12}),
    ("Which rows of a suite got worse?", rows_of_a_suite, True),
    (
        "How did one case change?",
        one_case,
        ["local-storage/local-storage-cache-seq-get nr_maps=16"],
    ),
    ("How does the commit compare with an unknown one?", compared_with_itself_nowhere, True),
    ("Which suites are there?", suites_there, True),
    ("What does a suite measure?", benchmarks_of_a_suite, True),
    ("What did the commit about the lookup change?", commit_by_words, (CULPRIT, "regression")),
    ("What does one case cost today?", newest_median, ("insns/op", True, True)),
    ("Which regressions wait for triage?", open_reports, ({"new"}, True)),
    ("Who caused the regression?", culprit, CULPRIT),
    ("Which hosts are there?", hosts_there, ["emulator-1", "published"]),
    ("What is in the queue?", waiting, True),
    ("Who measured the commit on AMD Rome?", runs_of_a_commit, ({"amd-rome"}, True)),
    ("Which branches are watched?", followed, ["for-next", "measured"]),
)


def asked_of(running: Running, *questions: Callable[[Ask], Any]) -> list[tuple[Any, Asked]]:
    """Starts the server once and asks each question with a counter of its own."""
    answers: list[tuple[Any, Asked]] = []

    async def ask_all() -> None:
        program = str(Path(sys.executable).with_name("cliffwatch"))
        server = StdioServerParameters(command=program, args=["mcp", "--url", running.url])
        async with AsyncExitStack() as stack:
            streams = await stack.enter_async_context(stdio_client(server))
            session = await stack.enter_async_context(ClientSession(*streams))
            await session.initialize()
            for question in questions:
                asked = Asked(session)
                answers.append((await question(asked), asked))

    anyio.run(ask_all)
    return answers


def test_twenty_questions_are_answered_briefly(demonstration: Running) -> None:
    answers = asked_of(demonstration, *(ask for _, ask, _ in QUESTIONS))
    assert len(answers) == 20
    for (question, _, expected), (answer, asked) in zip(QUESTIONS, answers, strict=True):
        assert answer == expected, question
        assert asked.calls <= MOST_CALLS, question
        assert asked.bytes <= MOST_TOKENS * BYTES_PER_TOKEN, question


def test_texts_of_commits_are_marked_as_data(demonstration: Running) -> None:
    async def subject(ask: Ask) -> Any:
        return (await ask("answer", commit=CULPRIT))["subject"]

    ((text, _),) = asked_of(demonstration, subject)
    assert text == "«bpf: Take the local storage lookup out of line»"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://nowhere.invalid"])
def test_a_service_that_is_away_is_said(demonstration: Running, url: str) -> None:
    class Away:
        pass

    away: Any = Away()
    away.url = url

    async def question(ask: Ask) -> Any:
        return await ask("hosts")

    ((answer, _),) = asked_of(away, question)
    assert url in answer["error"]
    assert answer["next_step"] == "try again when the service answers"
