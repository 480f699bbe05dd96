"""One request: what was sent, the workbench, and how to answer with a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, QueryParams, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tclose.errors import TcloseError, UsageError
from tclose.report.render.saving import load_templates
from tclose.studio.jobs import PATIENCE, BackgroundJob, describe_problem
from tclose.studio.project import STALE
from tclose.studio.workbench import Workbench

SCREENS = (
    ("open", "Open", "the table"),
    ("columns", "Columns", "what each one is"),
    ("values", "Values", "groups, distances, t"),
    ("risk", "Risk now", "before anything is done"),
    ("search", "Search", "for a release"),
    ("explore", "Explore", "what else there is"),
    ("before-after", "Before and after", "what changed"),
    ("release", "Release", "verify, sign, download"),
)
"""The pages in the order of the work: path, name, and topic."""
MOST_FIELDS = 20_000
MOST_DIGITS = 15
MOST_TEXT = 16 << 20
"""The largest text in a form, in bytes."""


def is_whole(text: str) -> bool:
    """Whether a text is a whole number of reasonable length: of a class, a page, a seed.

    >>> [is_whole(text) for text in ("12", "", "²", "-1", "9" * 400)]
    [True, False, False, False, False]
    """
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


@dataclass(frozen=True)
class Visit:
    """A request, with access to the workbench."""

    bench: Workbench
    query: QueryParams
    form: FormData = field(default_factory=FormData)
    path: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Returns a text of the form, or else of the address; empty if there is none."""
        value = self.form.get(name, self.query.get(name, ""))
        return value.strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Returns every text with this name, unchanged."""
        return [value for value in self.form.getlist(name) if isinstance(value, str)]

    @property
    def revision(self) -> str | None:
        """The revision of the policy that the page has shown, if it is given."""
        return self.text("revision") or None

    def refuse_other_table(self) -> None:
        """Raises UsageError if the page is about a table that is not open any more."""
        if self.text("about") not in ("", self.bench.project.mark):
            raise UsageError(STALE, where="table")

    def upload(self, name: str) -> UploadFile | None:
        """Returns a file of the form, if one was chosen."""
        value = self.form.get(name)
        return value if isinstance(value, UploadFile) and value.filename else None

    def get_result(self, job: BackgroundJob) -> Any:
        """Returns a job's result if it is done soon, None if it goes on; raises its problem."""
        return self.bench.jobs.require(job) if job.wait(PATIENCE) else None

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Renders a page, or a part of one."""
        project = self.bench.project
        view = None
        if project.table is not None:
            try:
                view = self.bench.find_view()
            except TcloseError:
                view = None
        shared = {
            "screens": SCREENS, "screen": template.removesuffix(".html"), "project": project,
            "view": view, "problem": "", "command": "", "waiting": None,
            "search_goes_on": self.bench.search_job is not None
            and not self.bench.search_job.is_done,
        }  # fmt: skip
        text = load_templates("tclose.studio").get_template(template)
        return HTMLResponse(text.render(**shared | values), status)


Screen = Callable[..., Response]
Action = Callable[[Visit], str]


def go(path: str) -> Response:
    """Sends the browser to a page of the studio after a change."""
    return RedirectResponse(path, 303)


def show(path: str, screen: Screen, method: str = "GET") -> Route:
    """Makes the route of a page, or of a part of one."""
    return _route(path, method, partial(_answer, screen))


def act(path: str, action: Action, screen: Screen) -> Route:
    """Makes the route of a form: applies it and redirects; shows the page again on errors."""
    return _route(path, "POST", partial(_act, action, screen))


def _route(path: str, method: str, answer: Screen) -> Route:
    async def run(request: Request) -> Response:
        form = FormData()
        if method == "POST":
            form = await request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=MOST_TEXT)
        bench: Workbench = request.app.state.bench
        try:
            visit = Visit(bench, request.query_params, form, request.path_params)
            return await run_in_threadpool(answer, visit)
        finally:
            await form.close()

    return Route(path, run, methods=[method])


def _answer(screen: Screen, visit: Visit, **values: Any) -> Response:
    try:
        return screen(visit, **values)
    except TcloseError as error:
        problem = values.get("problem") or describe_problem(error)
    try:
        return screen(visit, problem=problem)
    except TcloseError:
        return visit.page("layout.html", problem=problem)


def _act(action: Action, screen: Screen, visit: Visit) -> Response:
    try:
        return go(action(visit))
    except TcloseError as error:
        return _answer(screen, visit, problem=describe_problem(error))
