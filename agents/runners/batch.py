"""Runs a list of items of an agent through a language model, and describes the result."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from jobs.progress import Progress
from openclaw_web.errors import Refused
from openclaw_web.llm.client import CallFailed
from openclaw_web.sentences import join_sentences

from .calls import LimitReached
from .runner import LanguageModel, Runner

MOST_FAILURES = 3  # items in a row without an answer that end a run
PAUSE = 0.2  # seconds between two checks for cancellation
T = TypeVar("T")


def counted(words: Any, count: int) -> str:
    """Format a lazy plural by `number` with the count in it."""
    return words % {"number": count, "count": f"{count:,}"}


@dataclass(slots=True)
class Batch:
    """The progress of a run.

    `done` includes items that ended before this attempt. `stopped` says why some items were not asked about, `failure`
    why the last call without an answer failed.
    """

    runner: Runner
    model: LanguageModel
    progress: Progress
    total: int
    most_failures: int = MOST_FAILURES  # items in a row without an answer
    done: int = 0
    withheld: int = 0
    unanswered: int = 0
    failure: str = ""
    stopped: str = ""

    def run(self, items: Iterable[T], ask: Callable[[T], bool], may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Ask about each item in order, until the last or a reason to stop.

        `ask` returns whether the item is withheld. Other refusals than a reached limit are raised, unless the runner
        passes over them.
        """
        in_a_row = 0
        for item in items:
            self._report()
            if not may_go_on():
                return
            try:
                self.withheld += ask(item)
                in_a_row = 0
            except LimitReached as limit_reached:
                self.stopped = limit_reached.sentence
                return
            except (CallFailed, Refused) as failure:
                if isinstance(failure, Refused) and not self.runner.passes_over_refused:
                    raise
                in_a_row, self.unanswered, self.failure = in_a_row + 1, self.unanswered + 1, failure.sentence
                if in_a_row >= self.most_failures:
                    self.stopped = join_sentences([counted(self.runner.gave_up, in_a_row), failure.sentence])
                    return
            self.done += 1
        self._report()

    def wait(self, seconds: float) -> None:
        """Let seconds pass between two attempts; a cancellation ends the wait."""
        ends = time.monotonic() + seconds
        while (rest := ends - time.monotonic()) > 0:
            self._report()
            time.sleep(min(PAUSE, rest))

    def result(self) -> dict[str, Any]:
        """Return the model and the progress, as JSON-able values."""
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
    """Return the counts of a result in words, and the reason of an early end.

    `words` are lazy plurals by the name of a count; the first count always appears, others when they are not 0.
    """
    first = next(iter(words))
    counts = [counted(text, result[name]) for name, text in words.items() if result[name] or name == first]
    return join_sentences(filter(None, [*counts, result["stopped"] or result["failure"]]))


def check_answered(result: Mapping[str, Any], count: int) -> None:
    """Raises Refused with a result's message when the run failed before it had any.

    `count` is how many items were handled.
    """
    if (result["stopped"] or result["failure"]) and not count:
        raise Refused(result["message"])
