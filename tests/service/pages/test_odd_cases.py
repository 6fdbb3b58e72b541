"""What goes wrong around pages: a database that is away, boots that hold less, arms that cannot
be compared.
"""

from datetime import timedelta

import pytest
from service_running import Running
from service_runs import boots_of, commit_of, put_all, record_of, run_of

from cliffwatch_service.refusal import Refusal


def test_a_database_that_is_away_is_told_on_a_page(running: Running) -> None:
    with running.http(None) as http:
        assert http.get("/").status_code == 200
        running.clock.moment += timedelta(minutes=5)
        running.service.pool.close()
        away = http.get("/")
        assert (away.status_code, away.headers["retry-after"]) == (503, "5")
        assert "the database is not reachable" in away.text
        assert http.get("/nothing").status_code == 404


def test_a_boot_that_says_little_or_something_else_still_has_its_page(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        for number, body in boots_of(run):
            del body["environment"], body["problems"]
            body["boot"]["parts"] = (
                [{}, {"splats": [{"title": "BUG"}], "status": "of tomorrow"}] if number == 1 else []
            )
            http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
    with running.http(None) as http:
        for path in (f"/runs/{run.digest}", f"/runs/{run.digest}/boots/1", f"/runs/{run.digest}/boots/2"):
            assert http.get(path).status_code == 200
        assert "BUG" in http.get(f"/runs/{run.digest}").text


def test_two_runs_of_one_revision_show_each_its_own_samples(running: Running) -> None:
    """A/A: the strips of both sides are of the arms that were compared, not of every run of the revision."""
    runs = [run_of(boots=6, cases=2, seed=seed, created=f"2026-11-21T1{seed}:00:00+00:00") for seed in (1, 2)]
    with running.http("upload") as http:
        for run in runs:
            put_all(http, run)
    running.do_tasks()
    with running.http(None) as http:
        case = "local-storage/local-storage-cache-seq-get/nr_maps=0"
        text = http.get(f"/compare/{runs[0].digest}...{runs[1].digest}/cases/{case}").text
    base, head = text.split('<g transform="translate(60 40)"')
    assert base.count("<circle") == head.count("<circle") == 6
    assert base.split("<title>boot")[1] != head.split("<title>boot")[1]


def test_what_cannot_be_compared_is_said_and_does_not_reload_for_ever(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cliffwatch_service.compare.pairing.AT_ONCE", 1)

    def refuse(*_: object) -> None:
        raise Refusal(422, "not comparable", "made up for this test")

    runs = [
        run_of(
            boots=2,
            cases=2,
            seed=seed,
            base=f"b{seed}",
            head=f"h{seed}",
            created=f"2026-11-21T1{seed}:00:00+00:00",
        )
        for seed in (1, 2)
    ]
    with running.http("upload") as http:
        for run in runs:
            put_all(http, run)
    running.do_tasks()
    pair = f"/compare/{commit_of('h1')}...{commit_of('h2')}"
    with running.http(None) as http:
        assert http.get(pair).status_code == 202
        assert http.get(f"{pair}.json").headers["retry-after"] == "3"
        monkeypatch.setattr("cliffwatch_service.tasks.tasks.keep_compared", refuse)
        running.do_tasks()
        given_up = http.get(pair)
    assert given_up.status_code == 503
    assert "the comparison failed: the background task has the reason" in given_up.text
    assert "refresh" not in given_up.headers


def test_a_page_is_kept_by_nobody_but_its_reader(running: Running) -> None:
    with running.http(None) as http:
        headers = http.get("/runs").headers
    assert headers["cache-control"] == "private, no-cache"
    assert set(headers["vary"].replace(" ", "").split(",")) >= {"Accept", "Cookie", "HX-Request"}


def test_a_part_that_fails_is_a_part(running: Running) -> None:
    with running.http(None) as http:
        answer = http.get("/runs/" + "0" * 32, headers={"HX-Request": "true"})
    assert answer.status_code == 404
    assert answer.text.startswith('<p class="problem"')


def test_a_job_with_thousands_of_lines_shows_its_last_words(running: Running) -> None:
    target = {"targets": [{"platform": "amd-rome", "mode": "walltime"}], "suites": ["local-storage"]}
    asked = {
        "tree": "https://git.example.org/x.git",
        "base": commit_of("base"),
        "head": commit_of("head"),
        **target,
    }
    offer = {"host": "rome-1", "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
    running.enrol("amd-rome")
    with running.http("admin") as http:
        http.post("/api/v1/requests", json=asked, headers={"Idempotency-Key": "one"}).raise_for_status()
        work = http.post("/api/v1/offers", json=offer).raise_for_status().json()
        for start in range(0, 3000, 1000):
            events = [
                {
                    "number": number,
                    "kind": "line",
                    "at": "2026-11-21T12:00:00+00:00",
                    "data": {
                        "text": f"[ {number} s] {'build base' if number < 10 else 'measure'}: line {number}"
                    },
                }
                for number in range(start, start + 1000)
            ]
            http.post(f"/api/v1/leases/{work['lease']}/events", json={"events": events}).raise_for_status()
        text = http.get(f"/jobs/{work['job']}").text
    assert "line 2999" in text
    assert "<b>build base</b>" in text
