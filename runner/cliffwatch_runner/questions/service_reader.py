"""Reads a service and answers in at most 4 KB a question, each number beside the page that shows it.

The methods are the tools of `cliffwatch mcp`: their docstrings are what a language model reads. Texts of
commits stand between « and », because whoever writes a commit chooses them.
"""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from cliffwatch.failure import HttpFailure
from cliffwatch.formats.values import FreeJson
from cliffwatch.reports.several.row_addresses import row_path
from cliffwatch_runner.upload.client import Client

LARGEST_BYTES = 4096
"""Of an answer as JSON. Items at the end of its list are left out until it fits."""

_MOST = 20
_TEXTS = ("subject", "base_subject", "head_subject", "label", "note", "author", "reason")
"""Members that hold what the author of a commit or a reader wrote."""


class ServiceReader:
    """Answers questions from what one service has stored."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def answer(self, commit: str, suite: str = "", base: str = "nearest", platform: str = "") -> FreeJson:
        """What a commit changed: verdict, largest changes, functions behind them, what it could see.

        commit: a commit, its first digits (at least 7), a tag or a branch. base: likewise, or `nearest` for
        the nearest measured ancestor. `measured` is false if there is no result; `sentence` says why. Changes
        are fractions of base: 0.05 is 5 % more. If `in_turns` is false, they may be the host's, not the
        commit's: say so.
        """
        return self._ask("/answer", commit=commit, suite=suite, base=base, platform=platform or None)

    def compare(
        self, base: str, head: str, suite: str = "", verdict: str = "", text: str = "", platform: str = ""
    ) -> FreeJson:
        """Rows of a comparison of two revisions, the largest change first.

        verdict: changed, regression, improvement, unchanged, inconclusive, missing or failed. text: words of
        the case, such as `seq-get nr_maps=16`.
        """
        pair = f"{base}...{head}"
        page = f"{self._client.url}/compare/{quote(pair, safe='.')}"
        filters = {"suite": suite, "verdict": verdict, "text": text}
        found = self._ask(
            f"/comparisons/{quote(pair, safe='.')}",
            metrics="primary",
            platform=platform or None,
            **{name: value for name, value in filters.items() if value},
        )
        if "error" in found:
            return found
        rows = [_row(row, page) for row in found["comparisons"]]
        counts = {
            f"{target['platform']} {target['mode']}": {
                verdict: number for verdict, number in target["counts"].items() if number
            }
            for target in found["targets"]
        }
        return _fit({"url": page, "rows_by_verdict": counts, "rows": rows})

    def search(self, text: str) -> FreeJson:
        """Finds commits by their subject or first digits, branches, tags, suites and series (up to 8 each).

        Use the `series` identity of a result for `history`.
        """
        found = self._ask("/search", q=text)
        for kind, members in found.items():
            if isinstance(members, list):
                found[kind] = members[:8]
        for row in found.get("series", ()):
            row["url"] = f"{self._client.url}/series/{row['series']}"
        for row in found.get("revisions", ()):
            row["url"] = f"{self._client.url}/revisions/{row['commit']}"
        return _fit(found)

    def history(self, series: str, points: int = 10) -> FreeJson:
        """Medians of a series over revisions, newest first. `n` is the number of boots."""
        found = self._ask(f"/series/{quote(series, safe='')}/history", limit=max(1, min(points, _MOST)))
        if "error" in found:
            return found
        kept = ("commit", "release", "n", "centre", "low", "high", "at")
        return _fit(
            {
                "url": f"{self._client.url}/series/{found['series']}",
                "benchmark": found["benchmark"],
                "params": found["params"],
                "metric": found["metric"],
                "unit": found["unit"],
                "points": [{name: point[name] for name in kept} for point in found["points"]],
            }
        )

    def reports(self, state: str = "") -> FreeJson:
        """Regression reports, newest first: culprit commit, largest change, platforms, state."""
        return self._list("/reports", "regressions", "report", state=state or None)

    def report(self, report: str) -> FreeJson:
        """One regression report by its identity: its culprit, its changes and its triage."""
        found = self._ask(f"/reports/{quote(report, safe='')}")
        return _fit({"url": f"{self._client.url}/regressions/{quote(report, safe='')}", **found})

    def runs(self, revision: str = "", platform: str = "") -> FreeJson:
        """Runs, newest first: which platform measured which commits, with how many boots."""
        return self._list("/runs", "runs", "run", revision=revision or None, platform=platform or None)

    def suites(self, name: str = "") -> FreeJson:
        """The suites of the catalogue; with a name, that suite's benchmarks and what each measures."""
        if not name:
            return self._list("/suites", "suites", "suite", limit=None, without="about")
        found = self._ask(f"/suites/{quote(name, safe='')}")
        return _fit({"url": f"{self._client.url}/suites/{quote(name, safe='')}", **found})

    def hosts(self) -> FreeJson:
        """Hosts: platform, when each was last seen, the job it works on."""
        return self._list("/hosts", "hosts", None, limit=None, without="about")

    def queue(self) -> FreeJson:
        """Jobs that wait or run, next first, with the expected wait."""
        return self._list("/queue", "jobs", "job", limit=None)

    def branches(self) -> FreeJson:
        """Branches that are measured continuously."""
        return self._list("/branches", "branches", None, limit=None)

    def _list(
        self, path: str, page: str, identity: str | None, *, without: str = "", **params: Any
    ) -> FreeJson:
        """Reads the first page of a list, and adds to each item the address of its own page."""
        found = self._ask(path, **{"limit": _MOST, **params})
        if "error" in found:
            return found
        for item in found["items"]:
            of_item = f"/{item[identity]}" if identity else ""
            item["url"] = f"{self._client.url}/{page}{of_item}"
            item.pop(without, None)
        return _fit({"items": found["items"], "more_pages": found["next"] is not None})

    def _ask(self, path: str, **params: Any) -> FreeJson:
        reply = self._client.get(path, **params)
        if isinstance(reply, HttpFailure):
            return {"error": reply.message, "next_step": reply.next_step}
        return dict(_mark_texts(reply.body))


TOOLS: tuple[Callable[..., FreeJson], ...] = (
    ServiceReader.answer,
    ServiceReader.compare,
    ServiceReader.search,
    ServiceReader.history,
    ServiceReader.reports,
    ServiceReader.report,
    ServiceReader.runs,
    ServiceReader.suites,
    ServiceReader.hosts,
    ServiceReader.queue,
    ServiceReader.branches,
)


def _row(row: FreeJson, page: str) -> FreeJson:
    params = [f"{name}={value}" for name, value in row["params"].items()]
    kept = (
        "metric",
        "unit",
        "platform",
        "mode",
        "verdict",
        "base",
        "head",
        "change",
        "ci_low",
        "ci_high",
        "mde",
    )
    return {
        "case": " ".join([f"{row['suite']}/{row['benchmark']}", *params]),
        **{name: row[name] for name in kept if row[name] is not None},
        "url": f"{page}/cases/{row_path(row['suite'], row['benchmark'], row['params'], row['metric'])}",
    }


def _mark_texts(content: Any) -> Any:
    """Puts texts of commits between « and », which are removed from them."""
    if isinstance(content, list):
        return [_mark_texts(each) for each in content]
    if not isinstance(content, dict):
        return content
    return {
        name: _marked(value) if name in _TEXTS and isinstance(value, str) else _mark_texts(value)
        for name, value in content.items()
    }


def _marked(text: str) -> str:
    plain = "".join(each if each.isprintable() and each not in "«»" else " " for each in text)
    return f"«{plain[:200]}»"


def _fit(result: FreeJson) -> FreeJson:
    """Leaves out items at the end of the largest list until the result is small enough.

    `left_out` counts them by list.
    """
    fitting, left_out = dict(result), dict[str, int]()
    while _size(fitting) > LARGEST_BYTES:
        lists = [name for name, value in fitting.items() if isinstance(value, list) and value]
        if not lists:
            break
        largest = max(lists, key=lambda name: _size(fitting[name]))
        kept = len(fitting[largest]) * 4 // 5
        fitting[largest] = fitting[largest][:kept]
        left_out[largest] = len(result[largest]) - kept
        fitting["left_out"] = left_out
    return fitting


def _size(content: Any) -> int:
    return len(json.dumps(content, ensure_ascii=False).encode())
