"""Answers HEAD as GET without a body. Refuses requests whose body has two lengths."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cliffwatch_service.refusal import Refusal

_TWO_LENGTHS = {b"content-length", b"transfer-encoding"}


class Heads:
    """ASGI middleware. `refused` makes the response to a refusal."""

    def __init__(self, app: ASGIApp, *, refused: Callable[[Request, Refusal], Response]) -> None:
        self._app, self._refused = app, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif {name for name, _ in scope["headers"]} >= _TWO_LENGTHS:
            await self._refuse_two_lengths(scope, receive, send)
        elif scope["method"] == "HEAD":
            await self._head(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _refuse_two_lengths(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses request smuggling and closes the connection (RFC 9112, 6.1).

        A proxy may have used the other length, so the next bytes may belong to another client's request.
        """
        detail = "the request has both Content-Length and Transfer-Encoding: send it again with one of them"
        response = self._refused(Request(scope), Refusal(400, "two lengths", detail))
        response.headers["Connection"] = "close"
        await response(scope, receive, send)

    async def _head(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = {**scope, "method": "GET"}

        async def send_head(message: Message) -> None:
            """Completes the response after its headers, so streams end there too."""
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})

        try:
            await self._app(asked, receive, send_head)
        finally:
            scope.update({name: asked[name] for name in ("route",) if name in asked})
