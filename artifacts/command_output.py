"""Runs a command: a short output is passed on, a long one becomes an artifact.

Standard output and standard error are one stream, in the order in which they were written. It is never in memory as a
whole.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from openclaw_web import amounts, reasons
from openclaw_web.errors import Refused

from . import services
from .excerpts import content_fetch, previews
from .excerpts.selectors import Selector

SCHEMA = "openclaw-web.artifact.run.v1"
MB = 1024 * 1024

END = 64 * 1024  # bytes of the end of an output that are in memory
POLL_SECONDS = 0.5
GRACE_SECONDS = 5  # between SIGTERM and SIGKILL
FORWARDED = (signal.SIGTERM, signal.SIGHUP)
NOT_EXECUTABLE, NOT_THERE = 126, 127  # as shells


class CommandOutput:
    """The output of a running command as a binary file; `begin` must come first.

    After `most` bytes the command is ended, and `is_cut` is true. `beginning` and `end` are what remains in memory
    of an output that could not be stored.
    """

    def __init__(self, words: Sequence[str], most: int):
        self.most, self.count, self.is_cut = most, 0, False
        self.beginning, self.end = b"", bytearray()
        self._held = b""
        for number in FORWARDED:
            signal.signal(number, self._forward)
        signal.signal(signal.SIGINT, lambda *_args: None)  # a terminal sends it to the command as well
        self._process = subprocess.Popen(list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self._pipe = self._process.stdout.fileno()

    def begin(self, size: int) -> bytes:
        """Read more than `size` bytes, or all. They are read again by `read`."""
        pieces, count = [], 0
        while count <= size and (piece := self._read_pipe()):
            pieces.append(piece)
            count += len(piece)
        self.beginning = self._held = b"".join(pieces)
        return self.beginning

    def read(self, _size: int = -1) -> bytes:
        """The next bytes; empty at the end."""
        piece, self._held = self._held, b""
        return piece or self._read_pipe()

    def drain(self) -> None:
        """Read to the end, so that the command can end."""
        while self.read():
            pass

    def wait(self) -> int:
        """The exit status as shells have it: 128 and the number of a signal that ended the command."""
        self._process.stdout.close()
        try:
            status = self._process.wait(GRACE_SECONDS if self.is_cut else None)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        return status if status >= 0 else 128 - status

    def _read_pipe(self):
        while not select.select([self._pipe], [], [], POLL_SECONDS)[0]:
            if self._process.poll() is not None:  # what it started in the background has the pipe still
                return b""
        piece = os.read(self._pipe, min(1024 * 1024, self.most - self.count)) if not self.is_cut else b""
        self.count += len(piece)
        self.end += piece
        del self.end[:-END]
        if self.count >= self.most and piece:
            self.is_cut = True
            self._process.terminate()
        return piece

    def _forward(self, number, _frame):
        with suppress(ProcessLookupError):
            self._process.send_signal(number)


@dataclass(slots=True)
class RunResult:
    """The part of an output for standard output, sentences for standard error, and the exit status of the command."""

    output: bytes = b""
    status: int = 0
    handle: str = ""
    sentences: list[str] = field(default_factory=list)

    def as_receipt(self) -> dict[str, Any]:
        facts = {"schema": SCHEMA, "exitStatus": self.status, "handle": self.handle or None}
        return facts | {"text": self.output.decode("utf-8", "replace"), "notes": self.sentences}


def run(
    words: Sequence[str], agent_id: str, open_agent: Callable[[], str], max_chars: int, preview_chars: int, most_mb: int
) -> RunResult:
    """Run a command to its end.

    An output of more than `max_chars` characters is stored for the agent whose file `open_agent` returns. Where it
    cannot be stored, a sentence says so, and its beginning and end remain.
    """
    try:
        output = CommandOutput(words, most_mb * MB)
    except OSError as exc:
        status = NOT_THERE if isinstance(exc, FileNotFoundError) else NOT_EXECUTABLE
        values = {"command": words[0], "why": reasons.describe_os_error(exc)}
        return RunResult(status=status, sentences=[_("%(command)s cannot be run: %(why)s.") % values])
    result = RunResult(output.begin(4 * max_chars))
    if len(result.output.decode("utf-8", "replace")) > max_chars:
        try:
            db = open_agent()
            row, _stored = services.stash(db, output, is_compressed=True)
            part = content_fetch.fetch(db, row.handle, Selector(max_chars=preview_chars))
            lines = [part.text.rstrip("\n"), f"{row.handle}  {row.summary}", *part.in_words(agent_id)]
            result.output, result.handle = "\n".join([*lines, ""]).encode(), row.handle
        except (Refused, OSError, DatabaseError) as exc:
            output.drain()
            ends = output.beginning.decode("utf-8", "replace"), previews.decode_tail(bytes(output.end))
            result.output = f"{previews.both_ends(*ends, preview_chars)}\n".encode()
            values = {"size": amounts.format_amount("bytes", output.count), "why": getattr(exc, "sentence", exc)}
            sentence = _("The output (%(size)s) was not stored, only its beginning and end are printed: %(why)s")
            result.sentences.append(sentence % values)
    if output.is_cut:
        sentence = _("The output reached %(most)s MB, and the command was ended. The rest is missing.")
        result.sentences.append(sentence % {"most": most_mb})
    result.status = output.wait()
    return result


def write_output(data: bytes) -> None:
    """Write bytes to standard output, unchanged."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
