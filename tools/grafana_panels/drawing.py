"""Draws dashboards in Chromium by Grafana's own components (browser/)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from dashboards_read import answer, chosen, panels
from grafana_sql import TimeRange, Value, interpolated

from grafana_panels.frames import make_frame
from grafana_panels.intervals import interval_of

WIDTH = 1280
CHOSEN = {"cliffwatch-series": {"benchmark": "local-storage-cache-seq-get"}}
"""What is chosen other than at first: a series that has changes."""

_ADDRESS = "http://panels.invalid/"
"""Where the page believes to be: nothing is asked of any network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """What was drawn of a panel."""

    title: str
    kind: str
    component: str | None
    """Of Grafana's; None if none draws this kind."""
    ours: str | None
    """What is not drawn by the component but by the page; None if nothing."""
    points: int
    """Values in the time shown; 0 draws "No data"."""
    problem: str | None
    """Why it could not be drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A dashboard's picture (PNG), its panels, and what the page wrote into the browser's console as a
    warning or an error.
    """

    picture: bytes
    panels: Sequence[Panel]
    complaints: Sequence[str]


def read_dashboard(
    connection: psycopg.Connection[Any],
    dashboard: Mapping[str, Any],
    now: datetime,
) -> dict[str, Any]:
    """A dashboard with the answers of its queries, over the time that it shows at first and with the values
    that its variables have at first, as the page draws it.
    """
    values = chosen(connection, dashboard, CHOSEN.get(dashboard["uid"]))
    span = TimeRange(now - timedelta(days=_days(dashboard)), now)
    shown = [
        {
            **panel,
            "title": interpolated(panel["title"], _plain(values)),
            "frames": [
                make_frame(
                    answer(
                        connection,
                        interpolated(target["rawSql"], values),
                        span,
                        interval_of(panel, span, WIDTH * panel["gridPos"]["w"] // 24),
                    ),
                    target["format"],
                    target["refId"],
                )
                for target in panel["targets"]
            ],
        }
        for panel in panels(dashboard)
    ]
    return {
        "title": dashboard["title"],
        "from": round(span.begin.timestamp() * 1000),
        "to": round(span.end.timestamp() * 1000),
        "values": _plain(values),
        "panels": shown,
    }


def _days(dashboard: Mapping[str, Any]) -> int:
    return int(dashboard["time"]["from"].removeprefix("now-").removesuffix("d"))


def _plain(values: Mapping[str, Value]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else " + ".join(value) for name, value in values.items()}


class Page:
    """The page that draws, loaded once: six megabytes of Grafana's packages."""

    def __init__(self, chromium: Any, built: Path) -> None:
        self._page = chromium.new_page(viewport={"width": WIDTH, "height": 900})
        self._complaints: list[str] = []
        self._page.on("console", self._hear)
        self._page.on("pageerror", lambda error: self._complaints.append(str(error)))
        self._page.route("**/*", lambda route: _serve(route, built))
        self._page.goto(_ADDRESS + "page.html")

    def draw(self, dashboard: Mapping[str, Any], mode: str) -> Drawing:
        """`mode` is light or dark."""
        self._complaints.clear()
        self._page.set_viewport_size({"width": WIDTH, "height": _height(dashboard)})
        drawn = self._page.evaluate("each => window.draw(each)", {**dashboard, "mode": mode, "width": WIDTH})
        self._page.wait_for_load_state("networkidle")
        picture = self._page.screenshot()
        titles = {panel["id"]: panel["title"] for panel in dashboard["panels"]}
        return Drawing(
            picture=picture,
            panels=[Panel(title=titles[each.pop("id")], **each) for each in drawn],
            complaints=list(self._complaints),
        )

    def _hear(self, said: Any) -> None:
        if said.type in ("warning", "error"):
            self._complaints.append(f"{said.text} {said.location.get('url', '')}".strip())


def faults_of(drawing: Drawing) -> list[str]:
    """Panels that were not drawn or show nothing, and complaints of the page."""
    faults = [f"{panel.title}: {panel.problem}" for panel in drawing.panels if panel.problem]
    faults += [
        f"{panel.title}: is empty" for panel in drawing.panels if not panel.points and not panel.problem
    ]
    return [*faults, *(f"console: {each}" for each in drawing.complaints)]


def _serve(route: Any, built: Path) -> None:
    name = urlsplit(route.request.url).path.removeprefix("/").removeprefix("public/build/")
    file = built / ("inter.woff2" if name.startswith("public/fonts/inter/") else name)
    if file.is_file():
        route.fulfill(path=file)
    else:
        route.fulfill(status=404, body=f"there is no {name}")


def _height(dashboard: Mapping[str, Any]) -> int:
    """Of the whole picture, in pixels: tables draw no rows that are out of sight."""
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    return 60 + 38 * max(place["y"] + place["h"] for place in places)
