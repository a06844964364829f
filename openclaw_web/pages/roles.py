"""Restricts views to people with a role."""

from functools import wraps

from django.core.exceptions import PermissionDenied


def needs(role):
    """Require a role of the person: viewer, labeller, operator or admin; 403 otherwise.

    A higher role includes the lower ones.
    """

    def decorate(view):
        @wraps(view)
        def wrapper(request, *args, **kwargs):
            if not request.user.has_role(role):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        wrapper.needs_role = role
        return wrapper

    return decorate
