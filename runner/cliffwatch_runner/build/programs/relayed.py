"""Runs a command next to a loopback port that leads to a socket.

`python relayed.py SOCKET NAME=VALUE… -- COMMAND…`

It runs in a sandbox that sees neither this package nor a network. In the values {relay} becomes the port's
address.
"""

import os
import socket
import sys
import threading

_PIECE = 1 << 16


def _carry(source: socket.socket, to: socket.socket) -> None:
    try:
        while piece := source.recv(_PIECE):
            to.sendall(piece)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()


def _take(listener: socket.socket, path: str) -> None:
    while True:
        client, _ = listener.accept()
        relay = socket.socket(socket.AF_UNIX)
        try:
            relay.connect(path)
        except OSError:
            client.close()
            continue
        for one, other in ((client, relay), (relay, client)):
            threading.Thread(target=_carry, args=(one, other), daemon=True).start()


def main(path: str, words: list[str]) -> int:
    """Returns the command's exit status."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = "http://127.0.0.1:%d" % listener.getsockname()[1]  # noqa: UP031 - braces are the values'
    threading.Thread(target=_take, args=(listener, path), daemon=True).start()
    end = words.index("--")
    given = (word.replace("{relay}", address).partition("=") for word in words[:end])
    environment = {**os.environ, **{name: value for name, _, value in given}}
    return os.spawnvpe(os.P_WAIT, words[end + 1], words[end + 1 :], environment)  # noqa: S606


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]) & 0xFF)
