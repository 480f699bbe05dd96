"""The application behind the guard: pages, their forms, and the files that they need."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from tclose.report.render.saving import load_templates
from tclose.studio.screens import ROUTES
from tclose.studio.workbench import Workbench

HTMX = "htmx-2.0.10.min.js"


@cache
def _read_script() -> bytes:
    return (files("tclose.studio") / "static" / HTMX).read_bytes()


@cache
def _render_style() -> str:
    template = load_templates("tclose.studio").get_template("studio.css")
    return template.render(document={"edition": None})


async def _style(request: Request) -> Response:
    return Response(_render_style(), media_type="text/css")


async def _script(request: Request) -> Response:
    return Response(_read_script(), media_type="text/javascript")


async def _fail(request: Request, error: Exception) -> Response:
    return PlainTextResponse("Something is wrong inside tclose; nothing was changed.\n", 500)


async def _icon(request: Request) -> Response:
    return Response(status_code=204)


async def _start(request: Request) -> Response:
    return RedirectResponse("/open", 303)


def build_app(bench: Workbench) -> Starlette:
    """Builds the pages for one workbench; a guard must be put before them."""
    routes = [
        Route("/", _start),
        Route("/favicon.ico", _icon),
        Route("/studio.css", _style),
        Route("/htmx.js", _script),
        *ROUTES,
    ]
    app = Starlette(routes=routes, exception_handlers={Exception: _fail})
    app.state.bench = bench
    return app
