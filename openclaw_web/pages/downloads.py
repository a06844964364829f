"""Streamed downloads: a few at a time, and pages take precedence.

See docs/decisions/0018.

Every download is one of the two classes here; tests/test_architecture.py looks for others.
"""

import os
import threading
import weakref
from contextlib import contextmanager

from django.conf import settings
from django.http import FileResponse, StreamingHttpResponse
from django.utils.translation import ngettext

from ..disk import locks
from ..errors import Refused

WAIT_SECONDS = 5  # the wait suggested to a person when all places are taken
LONGEST_PAUSE = 0.2  # seconds that a part of a download waits for pages at most, however busy the site is


class TooManyDownloads(Refused):
    """The maximum number of downloads is running."""

    status = 503
    code = "too_many_downloads"
    headers = {"Retry-After": WAIT_SECONDS}


class PagePriority:
    """Counts the pages that this process is rendering, so that downloads can wait for them.

    Pages and downloads of a process share one interpreter.
    """

    def __init__(self):
        self._count = 0
        self._idle = threading.Condition()

    @contextmanager
    def page(self):
        """Make the downloads of this process pause during the block."""
        with self._idle:
            self._count += 1
        try:
            yield
        finally:
            with self._idle:
                self._count -= 1
                if not self._count:
                    self._idle.notify_all()

    def wait(self):
        """Wait until no page is being rendered, for at most LONGEST_PAUSE seconds."""
        with self._idle:
            self._idle.wait_for(lambda: not self._count, LONGEST_PAUSE)


page_priority = PagePriority()


class _Download:
    """A response that occupies one of the places for downloads until it ends.

    Raises TooManyDownloads when all places are taken.
    """

    def __init__(self, content, **options):
        place = _take_place()
        self._let_go = weakref.finalize(self, os.close, place) if place else None  # also when close() is never called
        super().__init__(self.opened(content), **options)

    def opened(self, content):
        """Open the content; called only once the download has a place."""
        return content

    def close(self):
        """End the answer; the server also calls it when the client has disconnected."""
        super().close()
        if self._let_go:
            self._let_go()


class StreamedDownload(_Download, StreamingHttpResponse):
    """A download that is generated while it is sent.

    Its parts should be small, because pages wait for the part that is being generated.
    """

    def __iter__(self):
        for part in super().__iter__():
            yield part
            page_priority.wait()


class FileDownload(_Download, FileResponse):
    """The file at a path as a download."""

    def opened(self, content):
        """Open the file."""
        return content.open("rb")


def _take_place():
    """Lock a place, and return the descriptor that holds the lock.

    The system releases the lock when the process ends, killed or not. None when the number of downloads is not limited.
    """
    if not settings.DOWNLOADS:
        return None
    folder = settings.HOME_DIR / "state" / "downloads"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(settings.DOWNLOADS):
        place = locks.hold_lock(folder / f"{number}.lock", wait=False)
        if place is not None:
            return place
    sentence = ngettext(
        "Only %(count)s download can run at a time. Try again in %(seconds)s seconds.",
        "Only %(count)s downloads can run at a time. Try again in %(seconds)s seconds.",
        settings.DOWNLOADS,
    )
    raise TooManyDownloads(sentence % {"count": settings.DOWNLOADS, "seconds": WAIT_SECONDS})
