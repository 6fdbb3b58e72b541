"""Pictures of histories: on the page of a regression, and at addresses of their own."""

from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as ET

from service_running import Running

from cliffwatch_service.store.history.points import PointRow
from cliffwatch_service.store.series import SeriesRow
from cliffwatch_service.web.layout.drawing import STEP, history
from cliffwatch_service.web.layout.render import render_svg

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

STEPPED = "bpf: Check the owner of a local storage element"


def report_of(running: Running, subject: str) -> str:
    """The address of the regression whose culprit has this subject."""
    with running.http(None) as http:
        page = http.get("/regressions?state=all").text
    return "/regressions/" + page.split(f">{subject}</a>")[0].rsplit("/regressions/", 1)[1].split('"')[0]


def test_a_regression_shows_its_step_and_its_other_cases(opened: Any, demonstration: Running) -> None:
    page = opened(report_of(demonstration, STEPPED), script=False)
    leading = page.locator(".stepped svg")
    assert leading.locator("path.change.regression").count() == 1, "the step"
    assert leading.locator("path.bound").count() == 1, "the interval of the change"
    assert leading.locator("path.line").count() == 2, "a line for each epoch"
    assert (
        leading.locator("title")
        .first.text_content()
        .startswith(
            "local-storage-cache-seq-get nr_maps=16: ▲ +5.74 % slower (+5.23 % .. +6.33 % 95 % interval)"
        )
    )
    assert "The step lies between" in str(leading.locator("desc").text_content())
    assert page.locator(".panels svg").count() == 15, "all 16 cases of the regression"
    assert page.locator(".panels path.change.regression").count() == 15
    assert page.locator(".panels path.line").count() == 15, "only the epoch of the step"
    page.locator("summary", has_text="one line per commit").click()
    assert page.locator("details tr.changed").count() == 1, "the culprit among the values"


def test_lists_show_histories_as_lines_and_say_what_they_cut(opened: Any) -> None:
    page = opened("/", script=False)
    reports = page.locator(".reports li")
    assert reports.locator("svg.spark path.line").count() == reports.count() == 4
    page.goto("/regressions?state=all")
    report = page.locator("article.report", has_text=STEPPED)
    assert report.locator("svg.spark path.change.regression").count() == 5
    assert report.locator("li", has_text="11 more").count() == 1, "5 of its 16 cases"
    page.goto("/series?text=seq-get+rome")
    rows = page.locator("tbody tr")
    assert page.locator("tbody svg.spark").count() == rows.count() > 5


def test_a_picture_has_an_address_of_its_own(demonstration: Running) -> None:
    report = report_of(demonstration, STEPPED)
    with demonstration.http(None) as http:
        page = http.get(report).text
        culprit = page.split("/compare/")[1].split("...")[1].split('"')[0]
        series = "/series/" + page.split('class="stepped"')[1].split("/series/")[1].split('"')[0]
        answers = [
            http.get(address)
            for address in (f"{report}.svg", f"/regressions/{culprit[:12]}.svg", f"{series}/{culprit}.svg")
        ]
        whole, latest = http.get(f"{series}.svg?last=1000"), http.get(f"{series}.svg?last=2")
        again = http.get(f"{report}.svg", headers={"If-None-Match": answers[0].headers["etag"]})
        assert http.get(f"{series}.svg?last=5000").status_code == 422, "of bounded size"
        assert http.get(f"{series}/1234567.svg").status_code == 404, "an unknown commit"
    assert again.status_code == 304
    assert answers[0].content == answers[1].content, "by report or by its culprit"
    for answer in (*answers, whole, latest):
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "image/svg+xml"
        assert answer.headers["cache-control"] == "public, max-age=300"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "prefers-color-scheme: dark" in answer.text
        assert "href" not in answer.text, "it needs nothing from elsewhere"
        assert shapes(answer.content, "title")[0].text
    assert len(shapes(answers[2].content, "path", "change regression")) == 1, "the step that the commit made"
    assert len(shapes(whole.content, "path", "change regression")) == 1
    assert len(shapes(latest.content, "circle")) == 2


def shapes(svg: bytes, name: str, kind: str | None = None) -> list[ET.Element]:
    found = ET.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{name}")
    return [each for each in found if kind in (None, each.get("class"))]


def test_thousands_of_points_and_endless_names_make_a_small_picture() -> None:
    points = [
        PointRow(
            at,
            f"{at:040x}",
            "6" * 10_000,
            8,
            100.0 + at % 7,
            99.0,
            109.0,
            str(at // 500),
            "0" * 32,
            NOON,
            None,
        )
        for at in range(5000)
    ]
    values = [(point.centre, point.low, point.high) for point in points]
    long = "<&" * 10_000
    svg = render_svg(
        "history/series.svg",
        series=SeriesRow(1, "0" * 32, long, long, [[long, long]], long, long, long, "walltime"),
        points=points,
        drawn=history(points, values, long, frame=STEP),
        standing=(),
        positions={},
        marked=None,
    )
    assert "<&" not in svg
    assert ET.fromstring(svg).get("width") == "720"
    assert len(svg) < 60_000


def test_platforms_and_cases_are_drawn_in_one_graph_with_a_legend(
    opened: Any, demonstration: Running
) -> None:
    page = opened("/series?text=seq-get+rome+nr_maps=16", script=False)
    page.locator("tbody a[href^='/series/']").first.click()
    page.get_by_role("link", name="with other platforms").click()
    keys = page.locator(".keys li")
    assert [each.strip() for each in keys.all_inner_texts()] == [
        "amd-rome walltime",
        "intel-skylake walltime",
    ]
    drawn = page.locator(".stepped svg g[class]:has(circle)")
    assert drawn.count() == 2, "a line for each platform"
    assert drawn.locator("path.line").count() == 4, "each begun anew where the environment changed"
    ends = [each.locator("circle").last.get_attribute("cx") for each in drawn.all()]
    assert ends[0] == ends[1], "a revision stands at one place in all lines"
    keys.last.locator("a").click()
    assert "intel-skylake" in page.locator("h1 + p").inner_text()
    page.get_by_role("link", name="with other cases").click()
    assert "nr_maps=1000" in page.locator(".keys").inner_text()
    picture = str(page.get_by_role("link", name="Picture for a mail or a wiki").get_attribute("href"))
    with demonstration.http(None) as http:
        answer = http.get(picture)
        assert http.get(picture.replace("with=cases", "with=odd")).status_code == 422
    assert "href" not in answer.text
    assert {"nr_maps=1", "nr_maps=1000"} <= {each.text for each in shapes(answer.content, "text")}
