"""Where a browser goes after signing in: to a page, never to an address that only takes what a form sends."""

import inspect
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django.utils.http import url_has_allowed_host_and_scheme


def find_return_address(request: HttpRequest) -> str:
    """The page to come back to after a request that needs a sign-in: of a form, the page that the form is on.

    HTMX names that page, and browsers do in `Referer`; only pages of this site count.
    """
    own = request.get_full_path()
    if request.method in ("GET", "HEAD"):
        return own
    for name in ("HX-Current-URL", "Referer"):
        if (path := _own_path(request, request.headers.get(name, ""))) and _is_page(path):
            return path
    return page_address(own)


def page_address(address: str) -> str:
    """The address when it may be opened; of one that only takes forms, the nearest page above it.

    An address that leads nowhere stays as it is.
    """
    path = urlsplit(address).path
    if _may_be_opened(path) is not False:
        return address
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        if _is_page(path):
            break
    return path


def _own_path(request, url):
    """Path and query of an address of this site; empty for any other."""
    if not url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure()):
        return ""
    found = urlsplit(url)
    return f"{found.path}?{found.query}" if found.query else found.path


def _is_page(address):
    return bool(_may_be_opened(urlsplit(address).path))


def _may_be_opened(path):
    """Whether the view of a path answers GET; None where no view is."""
    try:
        return "GET" in _methods(resolve(path).func)
    except Resolver404:
        return None


def _methods(view: Callable[..., Any]) -> list[str]:
    """The methods that a view answers: Django's decorators keep their list in a closure only."""
    while view:
        found = inspect.getclosurevars(view).nonlocals.get("request_method_list") if inspect.isfunction(view) else None
        if found:
            return found
        view = getattr(view, "__wrapped__", None)
    return ["GET"]
