"""The doors of a view: whose file, and may this person."""

from functools import wraps

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404

from .models import Agent


def agent_view(view):
    """Turn the `agent` of the URL into an Agent. The one door to an agent's file."""

    @wraps(view)
    def wrapper(request, agent, *args, **kwargs):
        return view(request, get_object_or_404(Agent, agent_id=agent), *args, **kwargs)

    return wrapper


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
