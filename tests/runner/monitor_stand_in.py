"""The emulator's end of the monitor: answers commands as a test says, and counts them."""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cliffwatch_runner.guest.counting.monitor import SOCKET


class Emulator:
    """`answers` says what a command shows; an event comes before each answer, as it may."""

    def __init__(self, folder: Path, answers: Callable[[str], str] = lambda _: "") -> None:
        self.answers = answers
        self.asked: list[str] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / SOCKET))
        self._listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):  # closed, or gone who asked
            while True:
                connection, _ = self._listening.accept()
                with connection, connection.makefile("r") as lines:
                    for line in lines:
                        self._answer(connection, json.loads(line))

    def _answer(self, connection: socket.socket, request: dict[str, dict[str, str]]) -> None:
        command = request.get("arguments", {}).get("command-line", "")
        self.asked.append(command)
        shown = self.answers(command) if command else ""
        connection.sendall(b'{"event": "RTC_CHANGE"}\n' + json.dumps({"return": shown}).encode() + b"\r\n")

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
