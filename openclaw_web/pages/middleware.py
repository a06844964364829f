"""Middleware for every answer: failures, time limits and caching."""

import logging

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from .. import capabilities
from ..errors import UserFacingError
from ..sqlite import time_limits
from . import not_found_page
from .downloads import page_priority
from .middleware_base import Middleware

log = logging.getLogger(__name__)


class FailurePageMiddleware(Middleware):
    """Turns failures with a sentence into pages with that sentence and status.

    So do queries that took too long.
    """

    def process_exception(self, request, exception):
        if time_limits.is_page_limit(exception):
            time_limits.lift_page_limit()
            log.warning("%s took longer than %s s and was stopped", request.get_full_path(), settings.PAGE_SECONDS)
            return render(request, "refused.html", {"sentence": time_limits.describe_slow_page()}, status=503)
        return _render_failure(request, exception) if isinstance(exception, UserFacingError) else None


def _render_failure(request, failure):
    is_missing = failure.status == 404
    ways = failure.ways or not_found_page.find_ways_on(request, is_missing=is_missing)
    context = {"sentence": failure.sentence, "reasons": failure.reasons, "ways": ways, "is_missing": is_missing}
    if failure.is_of_store:
        log.error("%s", failure)
        request.agent_problem = ""  # the page reports it already
        context["offers_doctor"] = request.user.has_role("operator")
    response = render(request, "refused.html", context, status=failure.status)
    for name, value in failure.headers.items():
        response[name] = value
    return response


class CapabilityMiddleware(Middleware):
    """Answers 404 for pages of disabled capabilities.

    Fragments that pages of other capabilities load are answered with 204: HTMX then changes nothing.
    """

    def process_view(self, request, _view, _args, _kwargs):
        owner = capabilities.find_route_owner(request.resolver_match.view_name)
        if owner not in settings.DISABLED:
            return None
        if request.htmx and request.method == "GET":
            return HttpResponse(status=204)
        return render(
            request, "refused.html", {"sentence": capabilities.describe(owner), "is_missing": True}, status=404
        )


class TimeLimitMiddleware(Middleware):
    """Ends slow queries of pages and of reads of the API, never those of writes.

    The limit applies to the view. FailurePageMiddleware does not see failures before the view, such as one while the
    person is looked up.
    """

    def __call__(self, request):
        try:
            with page_priority.page():
                return self.get_response(request)
        finally:
            time_limits.lift_page_limit()

    def process_view(self, request, _view, _args, _kwargs):
        if settings.PAGE_SECONDS and request.method in ("GET", "HEAD"):
            time_limits.limit_page(settings.PAGE_SECONDS)


class PrivateAnswersMiddleware(Middleware):
    """Forbids caches to store an answer that has no `Cache-Control` of its own."""

    def __call__(self, request):
        response = self.get_response(request)
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "private, no-cache"
        return response
