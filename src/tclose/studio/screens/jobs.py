"""The progress of a job; a page that waits polls it until it is done."""

from __future__ import annotations

from itertools import pairwise

from starlette.responses import Response

from tclose.report.charts import plots
from tclose.report.charts.axes import Axis, ticks_between, ticks_to, write_number
from tclose.report.charts.colours import BLUE
from tclose.report.charts.svg import element, picture
from tclose.report.document import Picture, Table
from tclose.studio.jobs import BackgroundJob
from tclose.studio.visit import Visit, act, show


def show_job(visit: Visit, problem: str = "") -> Response:
    """Shows the progress of a job; makes the browser reload the page once it is done."""
    job = visit.bench.jobs.find(visit.path["name"])
    if job is None or job.is_done:
        return Response(headers={"HX-Refresh": "true"})
    return visit.page("fragments/progress.html", job=job, curve=draw_curve(job))


def stop_job(visit: Visit) -> str:
    """Stops a search, with the best result so far or with nothing."""
    job = visit.bench.jobs.find(visit.path["name"])
    if job is None or not job.stops:
        return "/search"
    job.stop(keep=visit.text("what") == "keep")
    job.wait(3)
    return job.page


def draw_curve(job: BackgroundJob) -> Picture | None:
    """Draws the best loss of a search over the seconds of work."""
    if len(job.curve) < 2 or job.at is None:
        return None
    title, points = "Best loss so far", [*job.curve, (job.seconds, job.curve[-1][1])]
    plot, losses = plots.lay_out(), [loss for _, loss in points]
    ticks = ticks_to(max(losses), 5)
    up = Axis(0.0, ticks[-1], plot.floor, plot.top)
    across = plots.find_across(plot, [0.0, points[-1][0]])
    marks = [(across.place(at), f"{at:g}") for at in ticks_between(0.0, points[-1][0])]
    stairs = [points[0], *(step for (_, was), (at, now) in pairwise(points)
                           for step in ((at, was), (at, now)))]  # fmt: skip
    path = " ".join(f"{across.place(at):.1f},{up.place(loss):.1f}" for at, loss in stairs)
    parts = [
        *plot.draw_upward(up, ticks, write_number, "loss"),
        *plot.draw_below(marks, "seconds of work"),
        element("polyline", points=path, fill="none", stroke=BLUE, stroke_width=2),
    ]
    size = (plot.right + 20, plot.floor + plots.BELOW)
    drawn = picture(title, f"from {losses[0]:.4f} to {losses[-1]:.4f}", size, parts, inline=True)
    rows = tuple((f"{at:.2f}", f"{loss:.4f}") for at, loss in job.curve[-40:])
    return Picture(title, drawn, Table(title, ("seconds", "loss"), rows, (0, 1)))


ROUTES = [show("/jobs/{name}", show_job), act("/jobs/{name}/stop", stop_job, show_job)]
