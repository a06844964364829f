"""Finds the page to return to after a sign-in.

It is never an address that only takes forms.
"""

import inspect
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django.utils.http import url_has_allowed_host_and_scheme


def find_return_address(request: HttpRequest) -> str:
    """The page to return to after a request that needs a sign-in.

    For a form, it is the page that shows the form.

    HTMX names that page, and browsers do in `Referer`; only pages of this site count.
    """
    own_address = request.get_full_path()
    if request.method in ("GET", "HEAD"):
        return own_address
    for name in ("HX-Current-URL", "Referer"):
        if (path := _own_path(request, request.headers.get(name, ""))) and _is_page(path):
            return path
    return page_address(own_address)


def page_address(address: str) -> str:
    """The address if it answers GET, else the nearest page above it.

    An unknown address is returned unchanged.
    """
    path = urlsplit(address).path
    if _answers_get(path) is not False:
        return address
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        if _is_page(path):
            break
    return path


def _own_path(request, url):
    """The path and query of an address of this site; "" for any other."""
    if not url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure()):
        return ""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _is_page(address):
    return bool(_answers_get(urlsplit(address).path))


def _answers_get(path):
    """Whether the view of a path answers GET; None where there is no view."""
    try:
        return "GET" in _find_methods(resolve(path).func)
    except Resolver404:
        return None


def _find_methods(view: Callable[..., Any]) -> list[str]:
    """The methods that a view answers.

    Django's decorators keep their list only in a closure.
    """
    while view:
        methods = (
            inspect.getclosurevars(view).nonlocals.get("request_method_list") if inspect.isfunction(view) else None
        )
        if methods:
            return methods
        view = getattr(view, "__wrapped__", None)
    return ["GET"]
