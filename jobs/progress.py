"""How far long work is: what a job function reports to, and how a terminal shows it."""

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
    """Another worker was given this run; what this process still does for it no longer counts."""


class CancelledJob(Exception):
    """Somebody asked this run to end; what it has done is kept or taken back as its kind says."""


class Progress:
    """What a job function reports to. Reporting only notes it here; the job's heartbeat thread writes it down."""

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
        """Say how far the work is; `total` and `message` stay what they were when not given.

        `done` counts what an interrupted attempt before this one finished as well. Raises LostJob when another
        worker has taken the run over, and Cancelled when somebody asked the run to end.
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
        """The log as one text, whole lines only."""
        with self._lock:
            text = "\n".join(self._lines)
        return text if len(text) <= LOG_CHARACTERS else text[-LOG_CHARACTERS:].partition("\n")[2]

    def _note_change(self):
        if not self.changed.is_set():  # a tenth of the cost of setting it again
            self.changed.set()


class Terminal:
    """A listener for people: one line redrawn on a terminal, a plain line every few seconds in a pipe."""

    REDRAW_SECONDS = 0.1
    LINE_SECONDS = 3.0
    BAR_WIDTH = 24

    def __init__(self, stream: TextIO | None = None):
        self.stream = stream or sys.stderr
        self.is_live = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self._due = 0.0
        self._last = ""
        self._shown = ""

    def __call__(self, done: int, total: int | None, message: str) -> None:
        self._last = self._line(done, total, message)
        if (now := time.monotonic()) >= self._due:
            self._due = now + (self.REDRAW_SECONDS if self.is_live else self.LINE_SECONDS)
            self._show()

    def close(self) -> None:
        """Show the last state and leave the line."""
        if self._last != self._shown:
            self._show()
        if self.is_live and self._shown:
            self.stream.write("\n")
            self.stream.flush()

    def _show(self):
        # \x1b[2K empties the line: the one before may have been longer.
        self.stream.write(f"\r\x1b[2K{self._last}" if self.is_live else f"{self._last}\n")
        self.stream.flush()
        self._shown = self._last

    def _line(self, done, total, message):
        if not total:
            text = f"{done:,}  {message}" if done else message
        else:
            percent = min(100, done * 100 // total)
            count = _("%(done)s of %(total)s") % {"done": f"{done:,}", "total": f"{total:,}"}
            text = f"{self._bar(percent)}{count}  {percent} %  {message}"
        # A line that wraps cannot be redrawn.
        return _cut(text.rstrip(), self._columns() - 1) if self.is_live else text.rstrip()

    def _bar(self, percent):
        full = self.BAR_WIDTH * percent // 100
        return f"[{'#' * full}{'.' * (self.BAR_WIDTH - full)}] " if self.is_live else ""

    def _columns(self):
        # Not shutil's answer alone: that is about standard output, which may be a file.
        if "COLUMNS" not in os.environ:
            with suppress(OSError):
                return os.get_terminal_size(self.stream.fileno()).columns or 80
        return shutil.get_terminal_size().columns


@contextmanager
def open_listener(stream: TextIO, *, is_quiet: bool = False) -> Iterator[Listener | None]:
    """What a command gives to a job as its listener; None when nobody wants to hear of progress."""
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
    taken = 0
    for index, character in enumerate(text):
        taken += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if taken > columns:
            return text[:index]
    return text
