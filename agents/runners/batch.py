"""Things of one agent on their way to a language model, and what became of them in words."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from jobs.progress import Progress
from openclaw_web.errors import Refused
from openclaw_web.llm.client import CallFailed
from openclaw_web.pages.formatting import join_sentences

from .calls import LimitReached
from .runner import LanguageModel, Runner

MOST_FAILURES = 3  # things in a row without an answer end a run
PAUSE = 0.2  # seconds between two looks at whether somebody cancelled
T = TypeVar("T")


def counted(words: Any, count: int) -> str:
    """A lazy plural by `number` with the count in it."""
    return words % {"number": count, "count": f"{count:,}"}


@dataclass(slots=True)
class Batch:
    """How far a run is. `done` counts what ended before it as well.

    `stopped` says why some things were not asked about, `failure` what the last call without an answer failed of.
    """

    runner: Runner
    model: LanguageModel
    progress: Progress
    total: int
    most_failures: int = MOST_FAILURES  # things in a row without an answer
    done: int = 0
    withheld: int = 0
    unanswered: int = 0
    failure: str = ""
    stopped: str = ""

    def run(self, things: Iterable[T], ask: Callable[[T], bool], may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Ask about one thing after the other, until the last, or a reason to stop; `ask` says if it is withheld."""
        in_a_row = 0
        for thing in things:
            self._report()
            if not may_go_on():
                return
            try:
                self.withheld += ask(thing)
                in_a_row = 0
            except LimitReached as reached:
                self.stopped = reached.sentence
                return
            except (CallFailed, Refused) as failed:
                if isinstance(failed, Refused) and not self.runner.passes_over_refused:
                    raise
                in_a_row, self.unanswered, self.failure = in_a_row + 1, self.unanswered + 1, failed.sentence
                if in_a_row >= self.most_failures:
                    self.stopped = f"{counted(self.runner.gave_up, in_a_row)} {failed.sentence}"
                    return
            self.done += 1
        self._report()

    def wait(self, seconds: float) -> None:
        """Let time pass between two attempts; whoever cancels need not wait for its end."""
        ends = time.monotonic() + seconds
        while (rest := ends - time.monotonic()) > 0:
            self._report()
            time.sleep(min(PAUSE, rest))

    def result(self) -> dict[str, Any]:
        """Who was asked, and how far it got, as JSON-able values."""
        return {
            "host": self.model.endpoint.host,
            "model": self.model.model,
            "left": self.total - self.done,
            "withheld": self.withheld,
            "unanswered": self.unanswered,
            "failure": self.failure,
            "stopped": self.stopped,
        }

    def _report(self):
        words = {"model": self.model.model, "host": self.model.endpoint.host}
        self.progress.update(self.done, self.total, _("Asking %(model)s at %(host)s") % words)


def build_message(words: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """The counts of a result in words (lazy plurals by name), the first always, and why it ended early."""
    first = next(iter(words))
    counts = [counted(text, result[name]) for name, text in words.items() if result[name] or name == first]
    return join_sentences(filter(None, [*counts, result["stopped"] or result["failure"]]))


def check_answered(result: Mapping[str, Any], count: int) -> None:
    """Raises Refused with the message of a run that ended early, or failed, before anything came of it."""
    if (result["stopped"] or result["failure"]) and not count:
        raise Refused(result["message"])
