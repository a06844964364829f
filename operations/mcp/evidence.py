"""A turn with its evidence, as the tool `turn` returns it."""

from typing import Any

from agents import services as agents
from ledger.models import ConversationTurn, TranscriptEvent
from ledger.session.api import PAYLOAD_COLUMNS, annotate_payloads
from ledger.session.schemas import EventOut, TurnOut

from .caller import Caller

MOST_RECORDS = 60
MOST_DETAILS = 5  # decisions, and writes, that are read in full
STEPS = ("person", "line", "verdict", "sample", "release")  # of the chain
RECORD = ("record_id", "created_at", "kind", "tool_name", "is_failed", "model", "cost_usd", "payload_bytes", "stashed")
DECISION = ("id", "created_at", "decision", "reason", "candidate_fact", "llm_model", "prompt_version", "verdict")
WRITE = ("id", "created_at", "status", "target_file", "candidate_fact", "reason", "diff", "rolled_back", "corrections")


def read_turn(api: Caller, arguments: Any) -> dict[str, Any]:
    """Return the messages and calls of a turn, and what came of it."""
    agent_id, turn_id = arguments.agent, arguments.turn_id
    # Checks the role and that the turn is stored, and adds to the audit log.
    context = api.get("turn_context", {"turn_id": turn_id}, agent=agent_id)
    db = agents.get(agent_id).db
    turn = ConversationTurn.objects.using(db).get(id=turn_id)
    chain = api.get("chain", {"kind": "turn", "id": turn_id, "agent": agent_id})["steps"]
    steps = {step["step"]: step for step in chain}
    page = api.link("ledger:session_detail", agent_id, turn.session_id, turn=turn.turn_number)
    answer = {
        "pages": {"turn": page, "chain": api.link("operations:chain", agent_id, "turn", turn_id)},
        "turn": TurnOut.from_orm(turn).dict(),
        "before": [{"role": item["role"], "message": item["message"]} for item in context["items"]],
        "records": _list_records(db, turn),
    }
    for name, operation, key, fields in (
        ("decision", "gate_decision_detail", "decision_id", DECISION),
        ("write", "guardian_write_detail", "audit_id", WRITE),
    ):
        rows = []
        for item in steps[name]["items"][:MOST_DETAILS]:
            detail = api.get(operation, **{"agent": agent_id, key: item["id"]})
            rows.append({field: detail.get(field) for field in fields} | {"address": item["address"]})
        answer[f"{name}s"] = rows or steps[name]["reason"]
    return answer | {name: steps[name]["items"][:10] for name in STEPS}


def _list_records(db, turn):
    """The records of a turn with their content, as the API returns them."""
    events = TranscriptEvent.objects.using(db).filter(session_id=turn.session_id, turn_number=turn.turn_number)
    events = events.filter(is_active=turn.is_active).defer(*(set(PAYLOAD_COLUMNS) - {"event_json", "trim_json"}))
    rows = list(events.order_by("seq")[:MOST_RECORDS])
    annotate_payloads(rows)
    records = []
    for row in rows:
        record = EventOut.from_orm(row).dict()
        payload = record["payload"] or {}
        message = payload.get("message")
        content = {"role": message.get("role"), "content": message.get("content")} if isinstance(message, dict) else {}
        records.append({name: record[name] for name in RECORD} | (content or {"payload": payload}))
    return records
