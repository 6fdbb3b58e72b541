"""A branch whose revisions and series are there, for points that a test makes up."""

from service_running import Running
from service_runs import commit_of, put_all, run_of

TREE = "https://git.example.org/bpf-next.git"
SERIES = 8


def branch_without_points(running: Running, revisions: int, mode: str) -> int:
    """The branch's id; its revisions are r0, r1 …, its series those of `SERIES` cases."""
    running.follow(TREE, "master", [commit_of(f"r{index}") for index in range(revisions)])
    with running.http("upload") as http:
        put_all(http, run_of(boots=1, cases=SERIES, base="r0", head="r1", mode=mode))
    running.do_tasks()
    running.make_history()
    with running.service.transaction() as connection:
        connection.execute("DELETE FROM point")
        connection.execute("DELETE FROM change")
        connection.execute("UPDATE revision SET release = '7.3.0-rc1'")
    (branch,) = running.rows("SELECT id FROM branch")
    return int(branch["id"])
