"""Reports to the service how a job goes; what cannot be sent now is sent later, and the log on disk has it all."""

import queue
from collections.abc import Mapping
from typing import Any

from cliffwatch_runner import clock
from cliffwatch_runner.upload.client import Answered, Client, Refused

_AT_ONCE = 200
_MOST_WAITING = 5000
NEVER_TAKEN = (400, 413, 422)
"""What the service answers where the same would be refused again."""


class JobEvents:
    """The events of the lease at the path `lease`. `add` may be called from any thread, `send` from one."""

    def __init__(self, client: Client, lease: str) -> None:
        self._client, self._path = client, f"{lease}/events"
        self._waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._unsent: list[dict[str, Any]] = []
        self._number = 0

    def add(self, kind: str, data: Mapping[str, Any]) -> None:
        if self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put({"kind": kind, "at": clock.now().isoformat(), "data": dict(data)})

    def send(self) -> None:
        """Sends what waits, a batch at a time; stays quiet where the service is away."""
        while self._unsent or not self._waiting.empty():
            while len(self._unsent) < _AT_ONCE and not self._waiting.empty():
                self._unsent.append({"number": self._number, **self._waiting.get()})
                self._number += 1
            reply = self._client.post(self._path, {"events": self._unsent})
            if not isinstance(reply, Answered) and not (isinstance(reply, Refused) and reply.status in NEVER_TAKEN):
                return
            self._unsent = []  # also what the service will never take: it must not keep back what comes after it
