"""The progress of a job: its reports, its log, and their display in a terminal."""

import os
import shutil
import sys
import threading
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from django.utils.translation import gettext as _

LOG_LINES = 200
LOG_CHARACTERS = 64_000
LINE_CHARACTERS = 2_000

Listener = Callable[[int, int | None, str], None]


class LostJob(Exception):
    """Another worker has taken over this run: this process's work for it no longer counts."""


class CancelledJob(Exception):
    """Somebody canceled this run; its kind says what is kept and what is taken back."""


class Progress:
    """The progress that a job function reports.

    Reports only change attributes here; the heartbeat thread of the job stores them. With `is_ending` the process was
    told to end, and work that a later run goes on with ends early.
    """

    is_ending = False

    def __init__(
        self,
        listener: Listener | None = None,
        *,
        done: int = 0,
        total: int | None = None,
        message: str = "",
        log: str = "",
    ):
        self.done = done
        self.total = total
        self.message = message
        self.is_lost = False
        self.is_cancelled = False
        self.changed = threading.Event()
        self._listener = listener
        self._lines = deque(log.splitlines(), maxlen=LOG_LINES)
        self._lock = threading.Lock()

    def update(self, done: int, total: int | None = None, message: str = "") -> None:
        """Report how much work is done; without `total` or `message`, their last values stay.

        `done` includes what earlier, interrupted attempts finished. Raises LostJob when another worker has taken over
        the run, and CancelledJob when somebody has canceled it.
        """
        if self.is_lost:
            raise LostJob
        if self.is_cancelled:
            raise CancelledJob
        self.done = done
        self.total = self.total if total is None else total
        self.message = message or self.message
        self._note_change()
        if self._listener:
            self._listener(self.done, self.total, self.message)

    def log(self, line: str) -> None:
        """Add a line to the run's log, which keeps the last 200 lines and 64 kB."""
        with self._lock:
            self._lines.append(line.replace("\n", " ")[:LINE_CHARACTERS])
        self._note_change()

    def log_text(self) -> str:
        """Return the log as one text of whole lines."""
        with self._lock:
            text = "\n".join(self._lines)
        return text if len(text) <= LOG_CHARACTERS else text[-LOG_CHARACTERS:].partition("\n")[2]

    def _note_change(self):
        if not self.changed.is_set():  # a tenth of the cost of setting it again
            self.changed.set()


class Terminal:
    """A listener that draws progress for people.

    On a terminal it redraws one line, in a pipe it writes a plain line every few seconds.
    """

    REDRAW_SECONDS = 0.1
    LINE_SECONDS = 3.0
    BAR_WIDTH = 24

    def __init__(self, stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.is_live = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self._due = 0.0
        self._last = ""
        self._drawn = ""

    def __call__(self, done: int, total: int | None, message: str) -> None:
        self._last = self._format_line(done, total, message)
        if (self.is_live or self._last != self._drawn) and (now := time.monotonic()) >= self._due:
            self._due = now + (self.REDRAW_SECONDS if self.is_live else self.LINE_SECONDS)
            self._draw()

    def close(self) -> None:
        """Draw the last state and end the line."""
        if self._last != self._drawn:
            self._draw()
        if self.is_live and self._drawn:
            self.stream.write("\n")
            self.stream.flush()

    def _draw(self):
        # \x1b[2K empties the line: the one before may have been longer.
        self.stream.write(f"\r\x1b[2K{self._last}" if self.is_live else f"{self._last}\n")
        self.stream.flush()
        self._drawn = self._last

    def _format_line(self, done, total, message):
        if not total:
            text = f"{done:,}  {message}" if done else message
        else:
            percent = min(100, done * 100 // total)
            count = _("%(done)s of %(total)s") % {"done": f"{done:,}", "total": f"{total:,}"}
            text = f"{self._format_bar(percent)}{count}  {percent} %  {message}"
        # A line that wraps cannot be redrawn.
        return _cut(text.rstrip(), self._count_columns() - 1) if self.is_live else text.rstrip()

    def _format_bar(self, percent):
        full = self.BAR_WIDTH * percent // 100
        return f"[{'#' * full}{'.' * (self.BAR_WIDTH - full)}] " if self.is_live else ""

    def _count_columns(self):
        # Not shutil's answer alone: that is about standard output, which may be a file.
        if "COLUMNS" not in os.environ:
            with suppress(OSError):
                return os.get_terminal_size(self.stream.fileno()).columns or 80
        return shutil.get_terminal_size().columns


@contextmanager
def open_listener(stream: TextIO, *, is_quiet: bool = False) -> Iterator[Listener | None]:
    """Provide the listener that draws a job's progress on a stream; None when `is_quiet`."""
    if is_quiet:
        yield None
        return
    # Django wraps the stream and ends whatever is written with a line feed.
    terminal = Terminal(getattr(stream, "_out", stream))
    try:
        yield terminal
    finally:
        terminal.close()


def _cut(text, columns):
    # Chinese takes two columns a character.
    width = 0
    for index, character in enumerate(text):
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width > columns:
            return text[:index]
    return text
