"""A checkpoint pack as its page shows it: every record of it is a link to where it can be read."""

from typing import Any
from urllib.parse import quote

from django.urls import reverse

from agents.models import Agent
from artifacts import handles
from artifacts.models import Artifact
from ledger.models import Session
from openclaw_web.pages.formatting import listed

SHOWN = 50  # rows of one list; a pack may hold more
LISTS = ("turns", "files_read", "files_modified", "decisions", "open_calls", "open_errors", "artifacts")


def shown(agent: Agent, row: Artifact, pack: dict[str, Any]) -> dict[str, Any]:
    """The context of the page."""
    session_id = pack["session"]["id"]
    session = Session.objects.using(agent.db).filter(id=session_id).only("id", "title").first()
    address = session.get_absolute_url() if session else ""
    lists = {name: _list(agent, address, pack[name]) for name in LISTS}
    compaction = pack["compaction"]
    return {
        "row": row,
        "pack": pack,
        "session": session,
        "address": address,
        "compaction": {**compaction, **_linked(address, compaction)},
        "lists": lists,
        "left_out": listed(f"{name.replace('_', ' ')}: {count:,}" for name, count in _left_out(pack)),
    }


def _left_out(pack):
    return pack["bundle"]["left_out"].items()


def _list(agent, address, found):
    """The last SHOWN items with the addresses of what they name, and how many others there are."""
    items = [{**item, **_linked(address, item), "artifact": _artifact(agent, item)} for item in found["items"]]
    return {"items": items[-SHOWN:], "more": found["more"] + max(0, len(items) - SHOWN)}


def _linked(address, item):
    """Where the record of an item can be read; empty when the session is not there."""
    record_id = item.get("user_record_id") or item.get("first_record_id") or item.get("record_id")
    place = quote(record_id or "", safe="")
    return {"href": f"{address}?record={place}#r-{place}" if address and place else ""}


def _artifact(agent, item):
    """The page of the artifact that an item names, if it names one."""
    if "handle" not in item:
        return ""
    return reverse("artifacts:artifact_detail", args=[agent.agent_id, handles.parse(item["handle"])])
