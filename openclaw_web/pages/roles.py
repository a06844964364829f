"""The door of a view: may this person?"""

from functools import wraps

from django.core.exceptions import PermissionDenied


def needs(role):
    """Let in people whose role is at least `role`: viewer, labeller, operator, admin; 403 otherwise."""

    def decorate(view):
        @wraps(view)
        def wrapper(request, *args, **kwargs):
            if not request.user.has_role(role):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        wrapper.needs_role = role
        return wrapper

    return decorate
