"""Renders pages and HTMX partials, and redirects after a POST."""

from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect

from ..errors import Refused

LONGEST_ADDRESS = 2_000  # characters


def render_page(request, template, context, *, partial=None, status=200):
    """The whole page for a browser, one named partial for an HTMX swap."""
    htmx = request.htmx
    swap = bool(partial and htmx and not htmx.boosted and not htmx.history_restore_request)
    name = f"{template}#{partial}" if swap else template
    response = render(request, name, {**context, "swap": swap}, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def get_form_status(form):
    """The status of a page with a form: 422 if it was sent, else 200."""
    return 422 if form.is_bound else 200


def read_form(form, sentence):
    """The fields of a form. Raises Refused with the sentence when they are not valid."""
    if not form.is_valid():
        raise Refused(sentence)
    return form.cleaned_data


def redirect_after_post(request, message, *, to):
    """Redirect a browser, or tell HTMX to go to the same page, with a message."""
    messages.success(request, message)
    return redirect_to(request, to)


def refuse_post(request, refused, *, to):
    """Redirect back with the reason why nothing was done."""
    messages.error(request, refused.sentence)
    return redirect_to(request, to)


def redirect_to(request, to):
    """Redirect to `to`: a URL or an object with `get_absolute_url`."""
    url = to if isinstance(to, str) else to.get_absolute_url()
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)


def read_next_address(request, fallback):
    """The `next` address of a form when it is a path of this site, else `fallback`."""
    url = request.POST.get("next") or request.GET.get("next") or ""
    return url if _is_local(url) else fallback


def read_return_address(request):
    """The `back` address of a page when it is a page of this site, else ""."""
    url = request.GET.get("back", "")
    if len(url) > LONGEST_ADDRESS or not _is_local(url):
        return ""
    try:
        resolve(urlsplit(url).path)
    except Resolver404:
        return ""
    return url


def _is_local(url):
    # Only paths, because `redirect` takes a bare word for the name of a route.
    return url.startswith("/") and url_has_allowed_host_and_scheme(url, None)


def stop_polling(response: HttpResponse):
    """Tell HTMX that this answer is the last of a poll."""
    response.status_code = 286
    return response
