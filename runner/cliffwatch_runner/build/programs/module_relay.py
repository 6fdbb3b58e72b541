"""The only exit of the sandbox in which modules of strangers are fetched.

Through a socket the sandbox can query the module proxies of this host, only by paths of their protocol.
Inside the sandbox `relayed.py` connects go to the socket.
"""

import base64
import os
import re
import socketserver
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote, urlsplit

GO_PROXY, CHECKSUMS = "https://proxy.golang.org", "sum.golang.org"
_MIRRORS = {"sum.golang.google.cn": (CHECKSUMS, "https://sum.golang.google.cn")}
_PATH = re.compile(r"/(?P<number>[0-9])(?P<path>(?:/[A-Za-z0-9!@+~._%-]{1,200}){1,40})", re.ASCII)
_SECONDS = 120.0
_LARGEST_BYTES = 600 << 20
"""Go accepts no module of more than 500 MB."""

_PIECE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleProxies:
    """Where modules come from."""

    urls: tuple[str, ...]
    """Proxies that are reached through the relay, by number; the last is the checksum database."""
    folders: tuple[Path, ...]
    """Proxies in folders of this host."""
    goproxy: str
    """GOPROXY with {relay} for the relay's address and {folderN} for the path of the N-th folder."""
    gosumdb: str
    """GOSUMDB with {relay} for the relay's address."""


def module_proxies(goproxy: str, gosumdb: str) -> ModuleProxies:
    """Returns the proxies that go's settings name, without `direct`.

    If they name none, returns Go's defaults.
    """
    urls: list[str] = []
    folders: list[Path] = []
    names: list[str] = []
    for name in filter(None, map(str.strip, (goproxy or GO_PROXY).replace("|", ",").split(","))):
        if name == "direct":
            continue
        if name.startswith(("http://", "https://")):
            names.append(f"{{relay}}/{len(urls)}")
            urls.append(name.rstrip("/"))
        elif name.startswith("file://"):
            names.append(f"file://{{folder{len(folders)}}}")
            folders.append(Path(unquote(name.removeprefix("file://"))))
        else:
            names.append("off")
    return ModuleProxies(
        urls=(*urls[:9], _url_of_checksums(gosumdb)),
        folders=tuple(folders),
        goproxy=",".join(names[:9]) or "off",
        gosumdb="off" if gosumdb == "off" else f"{_key_of_checksums(gosumdb)} {{relay}}/{len(urls[:9])}",
    )


def _key_of_checksums(gosumdb: str) -> str:
    name = (gosumdb.split() or [CHECKSUMS])[0]
    return _MIRRORS.get(name, (name, ""))[0]


def _url_of_checksums(gosumdb: str) -> str:
    words = gosumdb.split() or [CHECKSUMS]
    if len(words) > 1:
        return words[1].rstrip("/")
    return _MIRRORS.get(words[0], ("", f"https://{words[0].partition('+')[0]}"))[1]


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    urls: Sequence[str] = ()


class _Handler(BaseHTTPRequestHandler):
    """Answers a GET with the proxy's answer."""

    server: _Server

    def do_GET(self) -> None:
        asked = _PATH.fullmatch(self.path)
        if (
            asked is None
            or int(asked["number"]) >= len(self.server.urls)
            or ".." in unquote(asked["path"]).split("/")
        ):
            self.send_error(403)
            return
        try:
            answer = urllib.request.urlopen(  # noqa: S310 - addresses are those of the host's own settings
                _request(self.server.urls[int(asked["number"])], asked["path"]), timeout=_SECONDS
            )
        except urllib.error.HTTPError as error:
            self.send_error(error.code)
        except (OSError, ValueError, HTTPException):
            self.send_error(502, "the module proxy cannot be reached")
        else:
            with answer, suppress(OSError, HTTPException):  # go notices what is cut by its length
                self._pass_on(answer)

    def _pass_on(self, answer: HTTPResponse) -> None:
        self.send_response(answer.status)
        if length := answer.headers.get("Content-Length"):
            self.send_header("Content-Length", length)
        self.end_headers()
        left = _LARGEST_BYTES
        while left > 0 and (piece := answer.read(min(_PIECE, left))):
            left -= len(piece)
            self.wfile.write(piece)

    def log_message(self, *_: object) -> None: ...

    def address_string(self) -> str:
        return ""


def _request(url: str, path: str) -> urllib.request.Request:
    """Builds a request. The credentials in the proxy's address stay outside the sandbox."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(parts._replace(netloc=host).geturl() + path)  # noqa: S310
    if at:
        request.add_header("Authorization", "Basic " + base64.b64encode(unquote(user).encode()).decode())
    return request


@contextmanager
def module_relay(urls: Sequence[str], socket: Path) -> Iterator[None]:
    """Serves the proxies on a socket until the block ends."""
    with _Server(str(socket), _Handler) as server:
        server.urls = urls
        socket.chmod(0o666)  # its folder is this user's alone, but the sandbox may be another's
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
            os.unlink(socket)  # noqa: PTH108 - as it was bound
