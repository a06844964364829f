"""What is noted about a request: through which door, that a browser was here, what somebody opened."""

import logging
import time
from collections import defaultdict

from django.db import OperationalError

from openclaw_web import clock

from ..authentication import sign_ins
from ..models.bookkeeping import AuditEntry
from . import log as audit
from .audited_routes import AUDITED_ROUTES

log = logging.getLogger(__name__)

READ_NOTED_EVERY_MS = 10 * 60_000
LONGEST_ID = 600
REMEMBERED = 10_000  # browsers; when there are more, all are forgotten and noted once more


class ActViaMiddleware:
    """Tells the audit log whether somebody acts on a page or through the API."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        with audit.act_via("api" if request.path.startswith("/api/") else "page"):
            return self.get_response(request)


class LastSeenMiddleware:
    """Notes when each browser was last here. No write per request: each process asks once in five minutes."""

    def __init__(self, get_response):
        self.get_response = get_response
        self.noted = {}

    def __call__(self, request):
        response = self.get_response(request)
        # Only a session that was read anyway: this must not cost a query.
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
        except OperationalError as exc:  # a writer is at work for long: the next five minutes will do
            log.warning("that a browser was seen could not be noted: %s", exc)


class AuditTrailMiddleware:
    """Tells the audit log what somebody opened (once in ten minutes for each object) and every download.

    A view whose address does not name what it shows says so: `request.opened = ("sample", its id)`; so does a list that
    became a file: `request.listed`, as `audit.record` takes it.
    """

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        if request.resolver_match and self._shows(request, response.status_code):
            self._note(request, response)
        return response

    @staticmethod
    def _shows(request, status):
        """Whether an answer holds what was asked for. What a write answers with is its service's to note."""
        if request.method == "GET":
            return status < 300 and status != 204  # a poll that finds nothing opens nothing
        return status == 422 and hasattr(request, "opened")  # a form that comes back comes with its sample

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
        about = {
            "object_type": opened[0] if opened else kind,
            "object_id": opened[1] if opened else name.format_map(values)[:LONGEST_ID],
            "agent_id": request.resolver_match.kwargs.get("agent", ""),
        }
        try:
            _record(request.user.get_username(), is_file, about, values["format"] or values["name"])
        except OperationalError as exc:  # the page is not refused because a long write is under way
            log.error("not in the audit log: %s opened %s (%s)", request.user.get_username(), about, exc)


def _record(by, is_file, about, file):
    if is_file:
        audit.record(by, "downloaded", **about, file=file[:LONGEST_ID])
        return
    now = clock.now_ms()
    lately = (now - READ_NOTED_EVERY_MS, now)
    # By the object alone: SQLite would read all that was read lately, which is much where somebody reviews.
    entries = AuditEntry.objects.filter(
        object_type=about["object_type"], object_id=about["object_id"], at__range=lately
    )
    if (by, "read", about["agent_id"]) not in entries.values_list("actor", "action", "agent_id"):
        audit.record(by, "read", **about)
