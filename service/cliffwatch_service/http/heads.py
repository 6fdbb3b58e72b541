"""What the head of a request means: HEAD is GET without its body, and a body has one length."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cliffwatch_service.refusal import Refusal

_TWO_LENGTHS = {b"content-length", b"transfer-encoding"}


class Heads:
    """ASGI middleware. `refused` answers a refusal in the form that the address speaks."""

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
        """A proxy may have taken the other one: what follows on the connection may be somebody else's request (RFC 9112, 6.1)."""
        detail = "a request has Content-Length or Transfer-Encoding, not both: send it again with one of them"
        response = self._refused(Request(scope), Refusal(400, "two lengths", detail))
        response.headers["Connection"] = "close"
        await response(scope, receive, send)

    async def _head(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = {**scope, "method": "GET"}

        async def send_head(message: Message) -> None:
            """The answer is complete with its head, so that a stream ends there too."""
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})

        try:
            await self._app(asked, receive, send_head)
        finally:
            scope.update({name: asked[name] for name in ("route",) if name in asked})
