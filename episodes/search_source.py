"""Events of the episodic ledger as texts of the search: their summaries."""

from django.db.models import Q
from django.urls import reverse

from search.sources import Item
from search.table_source import TableSource

from .models import EpisodicEvent

COLUMNS = ("event_id", "summary", "ts_ms", "type", "scope")


def _build(db, rows, is_hit):
    items = []
    for row in rows:
        item = Item(row["id"], row["ts_ms"], "episode", {"episode": row["summary"]})
        if is_hit:
            item.title = f"{row['scope']} · {row['type']}"
            item.href = reverse("episodes:event_detail", args=[db.removeprefix("agent_"), row["event_id"]])
        items.append(item)
    return items


EPISODES = TableSource("episode", EpisodicEvent, COLUMNS, _build, where=Q(redacted=0))
