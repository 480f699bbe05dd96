"""Work that takes longer than a request: in a thread, with progress, kept for later requests."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tclose.errors import PolicyError, TcloseError, UsageError
from tclose.search import Progress

PATIENCE = 0.6
"""Seconds that a page waits for a job before it shows its progress."""
MOST_KEPT = 24
MOST_POINTS = 400


def describe_problem(error: TcloseError) -> str:
    """Describes an error for a page; a single problem of a policy without the heading."""
    if isinstance(error, PolicyError) and len(error.problems) == 1:
        (problem,) = error.problems
        return str(problem).removeprefix("policy: ")
    return str(error)


class BackgroundJob:
    """One piece of work: its progress, whether it was asked to stop, and its result."""

    def __init__(
        self, title: str, key: Hashable, *, page: str = "", stops: Sequence[str] = ()
    ) -> None:
        self.title, self.key, self.name = title, key, secrets.token_hex(8)
        self.page, self.stops = page, stops
        """The page that started it; the labels of buttons to stop it: keep the best, or drop it."""
        self.result: Any = None
        self.problem: str | None = None
        self.keeps: bool | None = None
        """Once it was asked to stop: whether the best result so far is kept. None if not asked."""
        self.at: Progress | None = None
        self.step = ""
        self.seconds = 0.0
        """How long the search has worked."""
        self.curve: list[tuple[float, float]] = []
        """Seconds, and the best loss at that time."""
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self._done.is_set()

    @property
    def share(self) -> float | None:
        """The spent share of a search's budget, in [0, 1]; None if not known."""
        if self.at is None or not self.at.seconds_total:
            return None
        return min(self.at.seconds_used / self.at.seconds_total, 1.0)

    def begin(self, work: Callable[[BackgroundJob], Any]) -> BackgroundJob:
        """Starts the work in a thread.

        The thread is not a daemon, so that the process ends after it: an interpreter that ends
        below running compiled code would abort the process.
        """
        threading.Thread(target=self._run, args=(work,)).start()
        return self

    def wait(self, seconds: float | None = PATIENCE) -> bool:
        """Waits at most this long, or without limit; returns whether it is done."""
        return self._done.wait(seconds)

    def _run(self, work: Callable[[BackgroundJob], Any]) -> None:
        try:
            self.result = work(self)
        except TcloseError as error:
            self.problem = describe_problem(error)
        except MemoryError:
            self.problem = "not enough memory"
        except OSError as error:
            self.problem = f"a file cannot be read or written ({error.strerror})"
        except Exception as error:  # its message may contain a value of the table
            self.problem = f"something is wrong inside tclose ({type(error).__name__})"
        finally:
            self._done.set()

    def report(self, at: Progress) -> None:
        """Records the progress of a search."""
        self.at, self.step = at, at.step or at.phase
        self.seconds = max(self.seconds, at.seconds_used)  # later steps count from 0 again
        if at.loss is not None and (not self.curve or self.curve[-1][1] != at.loss):
            self.curve.append((self.seconds, at.loss))
            if len(self.curve) > MOST_POINTS:
                del self.curve[1:-1:2]

    def set_step(self, step: str) -> None:
        """Records what is being done."""
        self.step = step

    def stop(self, *, keep: bool) -> None:
        """Asks the work to end, with the best result so far or with nothing."""
        if self.keeps is None:
            self.keeps = keep

    @property
    def watch(self) -> dict[str, Any]:
        """The arguments by which a search can be watched and stopped."""
        return {
            "progress": self.report,
            "cancelled": lambda: self.keeps is not None,
            "on_cancel": lambda outcome: self.keeps is True,
        }


class Jobs:
    """All jobs of a studio; the same work is done only once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[Hashable, BackgroundJob] = {}
        self._by_name: dict[str, BackgroundJob] = {}

    def find(self, name: str) -> BackgroundJob | None:
        """Returns the job with this name, if it is still kept."""
        return self._by_name.get(name)

    def compute(
        self, key: Hashable, title: str, work: Callable[[BackgroundJob], Any], *,
        page: str = "", stops: Sequence[str] = (),
    ) -> BackgroundJob:  # fmt: skip
        """Returns the job for a key: the one started before, or a new one."""
        with self._lock:
            job = self._by_key.pop(key, None)
            if job is None:
                job = BackgroundJob(title, key, page=page, stops=stops).begin(work)
                self._by_name[job.name] = job
            self._by_key[key] = job  # the most recently used is dropped last
            self._drop_oldest()
        return job

    def forget(self, key: Hashable) -> None:
        """Makes the work for a key be done again at the next request."""
        with self._lock:
            self._by_key.pop(key, None)

    def stop_all(self, seconds: float) -> None:
        """Asks all jobs to end without result, and waits for them at most this long."""
        end = time.monotonic() + seconds
        with self._lock:
            jobs = list(self._by_name.values())
        for job in jobs:
            job.stop(keep=False)
        for job in jobs:
            job.wait(max(end - time.monotonic(), 0.0))

    def require(self, job: BackgroundJob) -> Any:
        """Returns a job's result; raises its problem, and then forgets the job for a new try."""
        if job.problem is not None:
            self.forget(job.key)
            raise UsageError(job.problem)
        if not job.is_done:
            raise UsageError("this takes longer than usual", hint="try again in a moment")
        return job.result

    def finish(self, job: BackgroundJob) -> Any:
        """Waits for a job that another one builds on, and returns its result."""
        job.wait(None)
        return self.require(job)

    def _drop_oldest(self) -> None:
        done = [key for key, job in self._by_key.items() if job.is_done]
        for key in done[: max(len(self._by_key) - MOST_KEPT, 0)]:
            del self._by_key[key]
        kept = {job.name for job in self._by_key.values()}
        ended = [name for name, job in self._by_name.items() if job.is_done and name not in kept]
        for name in ended:
            del self._by_name[name]
