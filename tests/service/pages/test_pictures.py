"""Pictures of histories: on the page of a regression, and at addresses of their own."""

from typing import Any

from service_running import Running

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
            "local-storage-cache-seq-get nr_maps=16: ▲ +5.74 % worse (+5.23 % .. +6.33 % 95 % interval)"
        )
    )
    assert "The step lies between" in str(leading.locator("desc").text_content())
    assert page.locator(".panels svg").count() == 15, "all 16 cases of the regression"
    assert page.locator(".panels path.change.regression").count() == 15
    assert page.locator(".panels path.line").count() == 15, "only the epoch of the step"
    page.locator("summary", has_text="one line per commit").click()
    assert page.locator("details tr.changed").count() == 1, "the culprit among the values"
