"""The entries of the rail. Formatting only: no queries."""

from django import template
from django.urls import NoReverseMatch, reverse

register = template.Library()


@register.inclusion_tag("components/nav_item.html", takes_context=True)
def nav_item(context, route, label, icon, role="viewer", number=""):
    """One entry of the rail; nothing for a person below `role`, or where the route is not mounted.

    `number` is a route that answers with a number to show beside it, asked for once the page is there.
    """
    request = context["request"]
    try:
        address = reverse(route)
    except NoReverseMatch:  # a capability that is switched off has no routes
        address = ""
    path = request.path
    return {
        "address": address if address and request.user.has_role(role) else "",
        "label": label,
        "icon": icon,
        "number": number,
        "is_here": path == address,
        "is_inside": address != "/" and path.startswith(address or "/"),
    }
