"""What holds for every answer: failures say what to do, and caches on the way keep nothing."""

import logging

from django.conf import settings
from django.shortcuts import render

from ..errors import UserFacingError
from ..sqlite import time_limits
from . import not_found_page
from .downloads import page_priority

log = logging.getLogger(__name__)


class FailurePageMiddleware:
    """A failure that knows its answer becomes a page with its sentence and status; so do queries that took too long."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

    def process_exception(self, request, exception):
        if time_limits.is_page_limit(exception):
            time_limits.lift_page_limit()
            log.warning("%s took longer than %s s and was stopped", request.get_full_path(), settings.PAGE_SECONDS)
            return render(request, "refused.html", {"sentence": time_limits.describe_slow_page()}, status=503)
        return _said(request, exception) if isinstance(exception, UserFacingError) else None


def _said(request, failure):
    is_missing = failure.status == 404
    ways = failure.ways or not_found_page.find_ways_on(request, is_missing=is_missing)
    context = {"sentence": failure.sentence, "reasons": failure.reasons, "ways": ways, "is_missing": is_missing}
    if failure.is_of_store:
        log.error("%s", failure)
        request.agent_problem = ""  # the page says it already
        context["offers_doctor"] = request.user.has_role("operator")
    response = render(request, "refused.html", context, status=failure.status)
    for name, value in failure.headers.items():
        response[name] = value
    return response


class TimeLimitMiddleware:
    """Ends the queries of pages and of reads of the API that take too long. A write is never broken off half-way.

    The limit is the view's: SayWhyMiddleware hears of nothing that fails before it, such as looking up who asks.
    """

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        try:
            with page_priority.page():
                return self.get_response(request)
        finally:
            time_limits.lift_page_limit()

    def process_view(self, request, _view, _args, _kwargs):
        if settings.PAGE_SECONDS and request.method in ("GET", "HEAD"):
            time_limits.limit_page(settings.PAGE_SECONDS)


class PrivateAnswersMiddleware:
    """No cache between us and a browser keeps an answer that does not say so itself."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "private, no-cache"
        return response
