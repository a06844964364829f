"""What holds for every answer: failures say what to do, and caches on the way keep nothing."""

import logging

from django.shortcuts import render

from agents import audit
from agents.databases import OldAgentFile

from .errors import Refused

log = logging.getLogger(__name__)


class SayWhyMiddleware:
    """`Refused` becomes a page with its sentence and status; an agent file older than the code becomes 503."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

    def process_exception(self, request, exception):
        if isinstance(exception, Refused):
            context = {"sentence": exception.sentence, "reasons": exception.reasons}
            return render(request, "refused.html", context, status=exception.status)
        if isinstance(exception, OldAgentFile):
            log.error("%s", exception)
            return render(request, "refused.html", {"sentence": str(exception)}, status=503)
        return None


class ActingThroughMiddleware:
    """Tells the audit log whether somebody acts on a page or through the API."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        with audit.acting_through("api" if request.path.startswith("/api/") else "page"):
            return self.get_response(request)


class PrivateAnswersMiddleware:
    """No cache between us and a browser keeps an answer that does not say so itself."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "private, no-cache"
        return response
