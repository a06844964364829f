"""Saved views: the filters of a list that a person keeps under a name.

They are stored in `kv`, one entry for each name.
"""

from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..models.bookkeeping import KeyValue

SCOPE = "saved_views"
MOST = 30  # saved views of one person on one list
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class SavedView:
    """A name and the query string (from its `?` on) that it stands for."""

    name: str
    query: str


def read_views(username: str, on: str) -> list[SavedView]:
    """The saved views of a person on the list `on`, by name."""
    views = KeyValue.objects.filter(scope=SCOPE, key__startswith=_build_prefix(username, on)).decoded().values()
    return [SavedView(**view) for view in views]


def save_view(username: str, on: str, name: str, query: str) -> None:
    """Save `query` under a name; a view of that name is replaced.

    Raises Refused for an empty or long name, and for too many views.
    """
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME:
        raise Refused(_("Enter a name of at most %(most)s characters for the view.") % {"most": LONGEST_NAME})
    key = _build_prefix(username, on) + name
    with transaction.atomic():
        others = KeyValue.objects.filter(scope=SCOPE, key__startswith=_build_prefix(username, on)).exclude(key=key)
        if others.count() >= MOST:
            raise Refused(_("You have saved %(most)s views of this list. Remove a view first.") % {"most": MOST})
        KeyValue.objects.put(SCOPE, key, {"name": name, "query": query})


def delete_view(username: str, on: str, name: str) -> None:
    """Remove a view, if it exists."""
    KeyValue.objects.filter(scope=SCOPE, key=_build_prefix(username, on) + name).delete()


def _build_prefix(username, on):
    return f"{on}/{username}/"  # no user name holds a slash
