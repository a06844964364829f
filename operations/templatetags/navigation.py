"""The entries of the rail. Formatting only: no queries."""

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse

register = template.Library()


@register.simple_tag(takes_context=True)
def nav_item(context, route, label, icon, role="viewer", number=""):
    """One entry of the rail; nothing for a person below `role`, or where the route is not mounted.

    `number` is a route that answers with a number to show beside it, asked for once the page is there.
    """
    request = context["request"]
    address = _address(route)
    if not address or not request.user.has_role(role):
        return ""
    is_inside = address != "/" and request.path.startswith(address)
    return _drawn(address, str(label), icon, number, request.path == address, is_inside)


@lru_cache(maxsize=500)
def _address(route):
    try:
        return reverse(route)
    except NoReverseMatch:  # a capability that is switched off has no routes
        return ""


@lru_cache(maxsize=500)
def _drawn(address, label, icon, number, is_here, is_inside):
    """Each entry looks one of three ways, on every page."""
    entry = {"address": address, "label": label, "icon": icon, "number": number}
    return render_to_string("components/nav_item.html", entry | {"is_here": is_here, "is_inside": is_inside})
