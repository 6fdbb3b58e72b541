"""Reports a job's progress to the service.

What cannot be sent now is sent later; the log on disk is complete.
"""

import queue
from typing import NamedTuple

from cliffwatch.formats.reading import as_json
from cliffwatch.formats.work import JobEvent, JobEvents
from cliffwatch_runner import clock
from cliffwatch_runner.upload.client import Answered, Client

_AT_ONCE = 200
_MOST_WAITING = 5000
NEVER_TAKEN = (400, 413, 422)
"""Status codes for content that would be refused again."""


class _Line(NamedTuple):
    """A line that a run printed, and when."""

    at: str
    text: str


class JobProgress:
    """Sends events to the lease with the URL path `lease`.

    `add_line` may be called from any thread, `send` from one.
    """

    def __init__(self, client: Client, lease: str) -> None:
        self._client, self._path = client, f"{lease}/events"
        self._waiting: queue.SimpleQueue[_Line] = queue.SimpleQueue()
        self._unsent: list[JobEvent] = []
        self._number = 0

    def add_line(self, text: str) -> None:
        if self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put(_Line(clock.now().isoformat(), text))

    def send(self) -> None:
        """Sends the waiting lines in batches. Returns silently if the service is unreachable."""
        while self._unsent or not self._waiting.empty():
            while len(self._unsent) < _AT_ONCE and not self._waiting.empty():
                line = self._waiting.get()
                self._unsent.append(
                    JobEvent(number=self._number, kind="line", at=line.at, data={"text": line.text})
                )
                self._number += 1
            reply = self._client.post(self._path, as_json(JobEvents(events=tuple(self._unsent))))
            if not isinstance(reply, Answered) and reply.status not in NEVER_TAKEN:
                return
            self._unsent = []  # also if the service will never take them: they must not block later ones
