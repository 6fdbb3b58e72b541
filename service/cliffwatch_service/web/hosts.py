"""Hosts: who works on what, when it was last heard of, what its doctor found, and which platforms are stale."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.store import follows, overview, queue
from cliffwatch_service.web.home import alarms, silent_hosts
from cliffwatch_service.web.pages import page
from cliffwatch_service.web.session import ReaderHere

router = APIRouter()


@router.get("/hosts")
def show_hosts(request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    now = service.now()
    with service.transaction() as connection:
        hosts = queue.list_hosts(connection)
        targets = overview.measured_on(connection)
        entries = follows.list_follows(connection)
        jobs = {job["id"]: job for job in queue.queue_of(connection, 1000)}
    return page(
        request,
        visitor,
        "hosts.html",
        hosts=hosts,
        silent={host["name"] for host in silent_hosts(hosts, now)},
        targets=targets,
        jobs=jobs,
        alarms=alarms(targets, entries, now),
    )
