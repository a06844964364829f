"""Redirects requests without a sign-in to the sign-in page."""

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.shortcuts import resolve_url
from django_htmx.http import HttpResponseClientRedirect

from . import return_address


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Requires a sign-in, which leads back to the page of the request.

    For a form that HTMX sent, the whole page changes, as for any other form.
    """

    def handle_no_permission(self, request, _view):
        response = redirect_to_login(return_address.find_return_address(request), resolve_url(settings.LOGIN_URL))
        is_sent_by_htmx = request.method != "GET" and request.headers.get("HX-Request") == "true"
        return HttpResponseClientRedirect(response.url) if is_sent_by_htmx else response
