"""A job as a host reads it: what the service answers may be older, newer or damaged."""

from typing import Any

import pytest
from made_documents import made_work

from cliffwatch.formats.reading import as_json, convert_to
from cliffwatch.formats.work import Work
from cliffwatch.parsers.readings import Problem


def answered(**members: Any) -> Work | Problem:
    return convert_to(as_json(made_work()) | members, Work)


def test_what_nobody_vouches_for_is_anybodys() -> None:
    answer = as_json(made_work())
    for name in ("trust", "tree_access"):
        del answer[name]
    work = convert_to(answer, Work)

    assert isinstance(work, Work)
    assert (work.trust, work.tree_access) == ("outside", "public")


def test_members_of_a_newer_service_are_passed_over() -> None:
    assert answered(patience=7, trust="vouched") == made_work(trust="vouched")


@pytest.mark.parametrize(
    ("members", "where"),
    [
        ({"base": "--upload-pack=x"}, "base"),
        ({"head": "main"}, "head"),
        ({"suites": "local-storage"}, "suites"),
        ({"mode": "both"}, "mode"),
        ({"job": "a\nb"}, "job"),
        ({"platform": 7}, "platform"),
        ({"heartbeat_seconds": 0}, "heartbeat_seconds"),
        ({"seed": -1}, "seed"),
        ({"tree": None}, "tree"),
    ],
)
def test_what_is_no_job_is_refused_with_its_place(members: dict[str, Any], where: str) -> None:
    wrong = answered(**members)

    assert isinstance(wrong, Problem)
    assert wrong.member == where
