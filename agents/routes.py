"""Addresses of pages that show one agent, or all of them."""

from django.urls import path


def agent_paths(address, view, *, name):
    """Two addresses of a page under one name: `<address>` of all agents, and the same below `agents/<agent>/`.

    `reverse(name)` is the first, `reverse(name, args=[agent_id])` the second. `view` is one of `agents.decorators`:
    what cannot show all agents asks for one.
    """
    return path(address, view, name=name), path(f"agents/<str:agent>/{address}", view, name=name)
