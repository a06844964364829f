"""The gate's decisions as texts of the search: the fact and the reason of each."""

from django.urls import reverse

from ledger import consent
from search.sources import Item
from search.table_source import TableSource

from .models import MemoryGateDecision

COLUMNS = ("candidate_fact", "reason", "created_at", "decision", "turn_id", "llm_model")


def _build(db, rows, is_hit):
    hidden = consent.find_withheld_keys(db, [row["turn_id"] for row in rows])
    return [_build_item(db, row, is_hit) for row in rows if row["turn_id"] not in hidden]


def _build_item(db, row, is_hit):
    fields = {"fact": "\n".join(filter(None, (row["candidate_fact"], row["reason"])))}
    item = Item(row["id"], row["created_at"], "fact", fields)
    if is_hit:
        item.title, item.facts = row["decision"], {"model": row["llm_model"]}
        item.href = reverse("gate:decision_detail", args=[db.removeprefix("agent_"), row["id"]])
    return item


DECISIONS = TableSource("decision", MemoryGateDecision, COLUMNS, _build)
