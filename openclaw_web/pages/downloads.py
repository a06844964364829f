"""Answers that are sent while they are made or read: a few at once, and pages come first. docs/decisions/0018 says why.

Every download is one of the two classes here: tests/test_architecture.py looks for others.
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

WAIT_SECONDS = 5  # what somebody is told to wait who is the fifth
LONGEST_PAUSE = 0.2  # seconds that one part of a download waits for pages: it goes on, however busy the site is


class TooManyDownloads(Refused):
    """As many downloads are under way as there may be."""

    status = 503
    code = "too_many_downloads"
    headers = {"Retry-After": WAIT_SECONDS}


class PagePriority:
    """Which pages this process makes now: what is sent in parts lets them go first, they share one interpreter."""

    def __init__(self):
        self._count = 0
        self._idle = threading.Condition()

    @contextmanager
    def page(self):
        """While a page is made, downloads of this process pause."""
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
        """Wait until no page is made, but not for long."""
        with self._idle:
            self._idle.wait_for(lambda: not self._count, LONGEST_PAUSE)


page_priority = PagePriority()


class _Download:
    """A response that takes one of the places for downloads, and gives it back when it ends or breaks off.

    Raises TooManyDownloads when there is none.
    """

    def __init__(self, content, **options):
        place = _take_place()
        self._let_go = weakref.finalize(self, os.close, place) if place else None  # also when nobody closes it
        super().__init__(self.opened(content), **options)

    def opened(self, content):
        """What is sent; nothing is opened for somebody who finds no place."""
        return content

    def close(self):
        """End the answer; the server calls it also when whoever asked has gone."""
        super().close()
        if self._let_go:
            self._let_go()


class StreamedDownload(_Download, StreamingHttpResponse):
    """A download that is made while it is sent: parts should be small, pages wait for the one that is made."""

    def __iter__(self):
        for part in super().__iter__():
            yield part
            page_priority.wait()


class FileDownload(_Download, FileResponse):
    """The file at a path as a download."""

    def opened(self, content):
        """The opened file."""
        return content.open("rb")


def _take_place():
    """The descriptor of a file whose lock is the place: the system lets go of it with the process, killed or not."""
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
