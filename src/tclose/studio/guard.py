"""The guard before every page: only this user's own browser, on this machine, gets an answer.

The address that is opened carries a token that works once. It becomes a cookie that scripts cannot
read and other sites cannot send. A request without this cookie, to another host, or a POST caused
by another page is refused before its path is looked at.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tclose.plain import escape_controls

POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every response."""
ENTERED = (
    '<!DOCTYPE html><html lang="en"><head><title>tclose studio</title>'
    '<meta http-equiv="refresh" content="0;url=/open"></head>'
    '<body><p><a href="/open">Go on to the studio</a></p></body></html>'
)
"""A page, not a redirect: the browser sends the strict cookie only with requests of this page."""
CLOSED = "Open the studio by the address that its terminal shows; it works once.\n"
TOO_LARGE = "The request is larger than the limit.\n"


class Guard:
    """Refuses everything but this user's own browser; wraps the whole application."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], port: int, most_bytes: int) -> None:
        self.app, self.most_bytes = app, most_bytes
        self.hosts = {f"{host}:{port}" for host in hosts}
        self.cookie = f"tclose-studio-{port}"  # browsers share cookies between ports
        self.token: str | None = secrets.token_urlsafe(32)
        self.secret = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a request, or passes it on to the application."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refuse(scope)
        if refusal is not None:
            await refusal(scope, receive, answer)
            return
        try:
            await self.app(scope, self._limit(receive), answer)
        except Exception as error:  # the application has answered
            # The error's message may contain a value of the table, so only its kind is printed.
            place = escape_controls(scope["path"], lines=False)
            print(f"tclose studio: {type(error).__name__} at {place}", file=sys.stderr)

    def _refuse(self, scope: Scope) -> Response | None:
        """Returns the refusal of a request; None if it may pass."""
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or headers["host"] not in self.hosts:
            return _say(421, "This host name is not served here.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _say(405, "Only GET and POST.")
        if scope["method"] == "POST" and headers.get("sec-fetch-site") != "same-origin":
            return _say(403, "Only the studio's own pages may send this.")
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if given and scope["path"] == "/" and scope["method"] == "GET":
            return self._enter(given[0])
        if not self._knows(headers.get("cookie", "")):
            return _say(403, CLOSED)
        length = headers.get("content-length", "0")
        if len(length) > 15 or not length.isdecimal() or int(length) > self.most_bytes:
            return _say(413, TOO_LARGE)
        return None

    def _enter(self, given: str) -> Response:
        if self.token is None or not secrets.compare_digest(given.encode(), self.token.encode()):
            return _say(403, CLOSED)
        self.token = None
        page = HTMLResponse(ENTERED)
        page.set_cookie(self.cookie, self.secret, httponly=True, samesite="strict", path="/")
        return page

    def _knows(self, cookies: str) -> bool:
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and secrets.compare_digest(
            found.value.encode(), self.secret.encode()
        )

    def _limit(self, receive: Receive) -> Receive:
        """Passes messages on; raises HTTPException when they exceed the limit in total."""
        received = 0

        async def next_message() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.most_bytes:
                raise HTTPException(413, TOO_LARGE)
            return message

        return next_message


def _say(status: int, words: str) -> Response:
    return PlainTextResponse(words, status)
