"""Records requests: the means, the last use of a browser, opened content."""

import logging
import time
from collections import defaultdict

from django.db import OperationalError

from openclaw_web import clock
from openclaw_web.pages.middleware_base import Middleware

from ..authentication import sign_ins
from ..models.bookkeeping import AuditEntry
from . import log as audit
from .audited_routes import AUDITED_ROUTES

log = logging.getLogger(__name__)

READ_NOTED_EVERY_MS = 10 * 60_000
LONGEST_ID = 600
REMEMBERED = 10_000  # browsers; when there are more, the memory is cleared and all are recorded again


class ActViaMiddleware(Middleware):
    """Tells the audit log whether a person acts on a page or through the API."""

    def __call__(self, request):
        with audit.act_via("api" if request.path.startswith("/api/") else "page"):
            return self.get_response(request)


class LastSeenMiddleware(Middleware):
    """Records when each browser was last used.

    It does not write with each request: each process writes once in five minutes for a browser.
    """

    def __init__(self, get_response):
        super().__init__(get_response)
        self.noted = {}

    def __call__(self, request):
        response = self.get_response(request)
        # Only a session that was read anyway, so that this costs no query.
        if request.session.accessed and (sign_in_id := request.session.get(sign_ins.SESSION_KEY)):
            self._note(sign_in_id)
        return response

    def _note(self, sign_in_id):
        now = time.monotonic()
        if now - self.noted.get(sign_in_id, -sign_ins.SEEN_EVERY_MS) < sign_ins.SEEN_EVERY_MS / 1000:
            return
        if len(self.noted) >= REMEMBERED:
            self.noted.clear()
        self.noted[sign_in_id] = now
        try:
            sign_ins.note_seen(sign_in_id)
        except OperationalError as exc:  # another writer takes long; the next attempt is in five minutes
            log.warning("that a browser was seen could not be noted: %s", exc)


class AuditTrailMiddleware(Middleware):
    """Records opened content and every download in the audit log.

    The same object is recorded once in ten minutes for each person.

    A view whose address does not name the content sets `request.opened = ("sample", its id)`. A list that became a file
    sets `request.listed`, the arguments of `audit.record`.
    """

    def __call__(self, request):
        response = self.get_response(request)
        if request.resolver_match and self._shows_content(request, response.status_code):
            self._note(request, response)
        return response

    @staticmethod
    def _shows_content(request, status):
        """Whether an answer shows the requested content.

        Answers of writes are recorded by their services.
        """
        if request.method == "GET":
            return status < 300 and status != 204  # a poll without news opens nothing
        return status == 422 and hasattr(request, "opened")  # a form with errors shows its sample again

    def _note(self, request, response):
        if listed := getattr(request, "listed", None):
            audit.record(request.user.get_username(), "downloaded", **listed)
            return
        route = request.resolver_match.view_name
        values = defaultdict(str, request.GET.dict() | request.resolver_match.kwargs)
        is_file = response.streaming or response.get("Content-Disposition", "").startswith("attachment")
        opened = getattr(request, "opened", None)
        is_shown = opened or route in AUDITED_ROUTES or (is_file and route.startswith("api:"))
        if not is_shown or not request.user.is_authenticated:
            return
        kind, name = AUDITED_ROUTES.get(route, ("list", route))
        subject = {
            "object_type": opened[0] if opened else kind,
            "object_id": opened[1] if opened else name.format_map(values)[:LONGEST_ID],
            "agent_id": request.resolver_match.kwargs.get("agent", ""),
        }
        try:
            _store_entry(request.user.get_username(), is_file, subject, values["format"] or values["name"])
        except OperationalError as exc:  # a long write elsewhere is no reason to refuse the page
            log.error("not in the audit log: %s opened %s (%s)", request.user.get_username(), subject, exc)


def _store_entry(by, is_file, subject, file):
    if is_file:
        audit.record(by, "downloaded", **subject, file=file[:LONGEST_ID])
        return
    now = clock.now_ms()
    recent_range = (now - READ_NOTED_EVERY_MS, now)
    # Filtered by the object alone: otherwise SQLite would read all recent entries, which are many during a review.
    entries = AuditEntry.objects.filter(
        object_type=subject["object_type"], object_id=subject["object_id"], at__range=recent_range
    )
    if (by, "read", subject["agent_id"]) not in entries.values_list("actor", "action", "agent_id"):
        audit.record(by, "read", **subject)
