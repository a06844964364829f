"""Stores decisions that a plugin wrote into a log or a database.

Each is matched with its turn, and stored once, however often it is read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from agents.models import Agent
from ledger import consent
from openclaw_web.batches import in_batches

from ..collectors.source_decisions import SourceDecision
from ..models import GateCall, MemoryGateDecision
from . import decision_store, sql, turn_matching
from .reports import Match, Origin, Report, Source, StoreResult, build_failed_call
from .windows import Window

CHUNK = 200  # decisions in one transaction
MAX_REMATCHED = 2_000  # the newest decisions without a turn, which are matched again after an import


@dataclass(slots=True)
class ImportResult:
    """Counts of an import.

    New decisions, decisions merged with those of another source, new failed calls, and decisions of people who opted
    out.
    """

    decisions: int = 0
    merged: int = 0
    failed_calls: int = 0
    withheld: int = 0


def import_decisions(agent: Agent, decisions: Sequence[SourceDecision], source: Source) -> ImportResult:
    """Store the decisions that were read for an agent, in the order of time.

    Known decisions stay as they are; failed calls are stored as calls.
    """
    result = ImportResult()
    for batch in in_batches(sorted(decisions, key=lambda decision: decision.at), CHUNK):
        _store_chunk(agent, batch, source, result)
    return result


def add_facts(agent: Agent, facts: dict[str, str]) -> None:
    """Add facts that were read later to decisions that have none.

    Decisions on words of somebody who has opted out get none.
    """
    rows = MemoryGateDecision.objects.using(agent.db).filter(id__in=facts, candidate_fact=None)
    turn_of = dict(rows.values_list("id", "turn_id"))
    hidden = consent.find_withheld_keys(agent.db, turn_of.values())
    decision_store.add_facts(agent.db, {id_: facts[id_] for id_, turn_id in turn_of.items() if turn_id not in hidden})


def rematch_turns(agent: Agent, *, since: int | None = None) -> int:
    """Match decisions that have no turn once more, and return how many were matched.

    Their turns may have been imported since. `since` (milliseconds): only decisions from this moment on, and those
    whose source named a turn that is stored now, or that a transcript has now. A decision of somebody who has opted out
    meanwhile stays as it is.
    """
    decisions = MemoryGateDecision.objects.using(agent.db)
    # Each condition has its index: joined by OR, they would read every row.
    conditions = (
        Q(named_turn_id__isnull=False),
        turn_matching.is_joined(),
        Q(turn_id=None, created_at__gte=since or 0),
    )
    first, *others = (decisions.filter(condition).values("id") for condition in conditions)
    rows = decisions.filter(id__in=first.union(*others)).order_by("-created_at")
    matched = 0
    for row in rows.defer("raw_response")[:MAX_REMATCHED]:
        window = decision_store.windows.read_window(agent.db, row.window_hash)
        reply, keys = window.reply if window else None, [row.session_key, row.session_id]
        match = turn_matching.find_named(agent.db, row.session_key, row.named_turn_id or row.turn_id)
        if match is None and row.turn_id is None:
            match = turn_matching.match_turn(agent.db, agent.agent_id, keys, row.created_at, reply)
        is_new = match and match.turn_id and (match.turn_id, match.match) != (row.turn_id, row.match)
        if is_new and not consent.find_withheld_keys(agent.db, [match.turn_id]):
            decision_store.assign_turn(agent.db, row.id, match)
            matched += 1
    return matched


def _store_chunk(agent, decisions, source, result):
    calls: list[GateCall] = []
    reports: list[Report] = []
    windows: dict[tuple[int, str | None, str | None], Window | None] = {}
    matched = [(decision, _match_turn(agent, decision)) for decision in _find_unknown(agent.db, decisions)]
    hidden = consent.find_withheld_keys(agent.db, [match.turn_id for _decision, match in matched])
    for decision, match in matched:
        if decision.failure:
            calls.append(build_failed_call(decision, session_id=match.session_id, turn_id=match.turn_id))
        elif match.turn_id in hidden:
            result.withheld += 1
        else:
            reports.append(_build_report(decision, match, source, _build_window(decision, windows)))
    store_result: StoreResult = decision_store.store_reports(agent.db, reports)
    add_facts(agent, {decision.id: decision.fact for decision in decisions if decision.fact})
    result.decisions += len(store_result.new)
    result.merged += len(store_result.merged)
    result.failed_calls += decision_store.store_calls(agent.db, calls)


def _find_unknown(db, decisions):
    """Return the first decision of each id that was not stored before."""
    known = sql.find_known_ids(db, [decision.id for decision in decisions])
    calls = GateCall.objects.using(db).filter(id__in=[decision.id for decision in decisions if decision.failure])
    known |= set(calls.values_list("id", flat=True))
    return list({decision.id: decision for decision in reversed(decisions) if decision.id not in known}.values())[::-1]


def _match_turn(agent, decision):
    """Match a decision with its turn.

    By the turn that it names, where that is one of ours; else by session key, time and reply.
    """
    reply = decision.reply.message if decision.reply else None
    return turn_matching.find_named(
        agent.db, decision.session_key, getattr(decision, "turn_id", None)
    ) or turn_matching.match_turn(
        agent.db, agent.agent_id, [decision.session_key, decision.original_key], decision.at, reply
    )


def _build_report(decision, match, source, window):
    columns = getattr(decision, "reported", {}) | {
        "id": decision.id,
        "turn_id": match.turn_id,
        "session_id": match.session_id,
        "match": match.match,
        "named_turn_id": None if match.match == Match.GIVEN else getattr(decision, "turn_id", None),
        "session_key": decision.session_key,
        "decision": decision.decision,
        "reason": decision.reason,
        "candidate_fact": decision.fact,
        "llm_model": decision.model,
        "llm_latency_ms": decision.latency_ms,
        "saw_user": decision.saw_user,
        "created_at": decision.at,
        "origin": Origin.IMPORTED,
    }
    row = MemoryGateDecision(**columns)
    return Report(row=row, source=source, window=window, other_key=decision.original_key)


def _build_window(decision, windows):
    """Build the window of a decision; None where the log does not hold all of it.

    Decisions on the same messages share one window in `windows`.
    """
    if decision.window is None:
        return None
    user = getattr(decision, "user_message", None)
    sides = user.message if user else None, decision.reply.message if decision.reply else None
    key = (id(decision.window), *sides)
    if key not in windows:
        messages = tuple({"role": s.role, "message": s.message, "timestamp": s.timestamp} for s in decision.window)
        windows[key] = Window(messages, *sides, decision.left_out)
    return windows[key]


def group_by_agent(
    decisions: Iterable[SourceDecision], names: dict[str, str], workspaces: dict[str, str], default: str
) -> dict[str, list[SourceDecision]]:
    """Group decisions by the agent they belong to.

    That is the agent of their key, else of the plugin's workspace, else `default`.

    `names` are the agents here by their names in the home, `workspaces` agents by the folder of their workspace.
    """
    groups: dict[str, list[SourceDecision]] = {}
    for decision in decisions:
        agent_id = (
            names.get(parse_agent_name(decision)) or workspaces.get((decision.workspace or "").rstrip("/")) or default
        )
        groups.setdefault(agent_id, []).append(decision)
    return groups


def parse_agent_name(decision: SourceDecision) -> str:
    """Return the name of the agent in a decision's session keys; empty when they name none."""
    return next((name for key in (decision.original_key, decision.session_key) if (name := parse_key_agent(key))), "")


def parse_key_agent(key: str | None) -> str:
    """Return the agent of an OpenClaw session key: `agent:main:irc:group:#lab`."""
    parts = (key or "").split(":")
    return parts[1] if len(parts) > 2 and parts[0] == "agent" else ""
