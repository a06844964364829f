"""Runs operations of the API in this process for the tools of MCP."""

from io import BytesIO
from typing import Any
from urllib.parse import unquote, urlencode

import orjson
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.urls import NoReverseMatch, resolve, reverse
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite import time_limits
from people.audit.middleware import AuditTrailMiddleware
from people.models import User


class Caller:
    """A person who calls operations of the API without HTTP.

    Role, limits, sentences, time limits and the audit log are those of a request. `site` is the beginning of
    the addresses of pages.
    """

    def __init__(self, user: User, site: str = ""):
        self.user = user
        self.site = site

    def get(self, operation: str, query: dict[str, Any] | None = None, **path: str) -> dict[str, Any]:
        """Return the answer of a read. Arguments that are None are left out. Raises Refused."""
        try:
            if settings.PAGE_SECONDS:
                time_limits.limit_page(settings.PAGE_SECONDS)
            return self._run("GET", operation, query, b"", path)
        finally:
            time_limits.lift_page_limit()

    def post(self, operation: str, body: dict[str, Any], **path: str) -> dict[str, Any]:
        """Return the answer of a write. Raises Refused."""
        return self._run("POST", operation, None, orjson.dumps(body), path)

    def link(self, route: str, *parts: str, **query: Any) -> str:
        """The address of a page."""
        address = f"{self.site}{reverse(route, args=parts)}"
        return f"{address}?{urlencode(query)}" if query else address

    def _run(self, method, operation, query, body, path):
        try:
            address = unquote(reverse(f"api:{operation}", kwargs=path))
        except NoReverseMatch as exc:  # an id that no address can have, or a disabled capability
            raise Refused(_("There is nothing with this id, or its capability is disabled.")) from exc
        given = {name: value for name, value in (query or {}).items() if value is not None}
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": address.encode().decode("latin-1"),
            "QUERY_STRING": urlencode(given, doseq=True),
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "wsgi.input": BytesIO(body),
        }
        request = WSGIRequest(environ)
        request.user = request.auth = self.user  # type: ignore[attr-defined]
        match = request.resolver_match = resolve(address)
        view = AuditTrailMiddleware(lambda request: match.func(request, *match.args, **match.kwargs))
        response = view(request)
        answer = orjson.loads(response.content)
        if response.status_code >= 400:
            raise Refused(answer["detail"], reasons=answer.get("reasons", ()))
        return answer
