"""Decisions that a plugin wrote down, in a log or a database: placed and stored, however often they are read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.models import Agent
from ledger import consent
from ledger.models import ConversationTurn

from ..collectors.source_decisions import SourceDecision
from ..models import GateCall, MemoryGateDecision
from . import decision_store, sql, turn_matching
from .reports import Match, Origin, Report, Source, StoreResult, build_failed_call
from .windows import Window

CHUNK = 200  # decisions in one transaction
AGAIN = 2_000  # decisions without a turn that are looked at again after an import, the newest


@dataclass(slots=True)
class ImportResult:
    """What an import found: decisions that are new, failed calls that are new, decisions of people who opted out."""

    decisions: int = 0
    merged: int = 0
    failed_calls: int = 0
    withheld: int = 0


def import_decisions(agent: Agent, found: Sequence[SourceDecision], source: Source) -> ImportResult:
    """Store what was read for an agent, in the order of time: what is known stays, failed calls are calls."""
    result = ImportResult()
    ordered = sorted(found, key=lambda one: one.at)
    for start in range(0, len(ordered), CHUNK):
        _store_some(agent, ordered[start : start + CHUNK], source, result)
    return result


def add_facts(agent: Agent, facts: dict[str, str]) -> None:
    """Give decisions that were stored without a fact the one that was told later, but for those of opted-out words."""
    rows = MemoryGateDecision.objects.using(agent.db).filter(id__in=facts, candidate_fact=None)
    turn_of = dict(rows.values_list("id", "turn_id"))
    hidden = consent.find_withheld_keys(agent.db, turn_of.values())
    decision_store.add_facts(agent.db, {id_: facts[id_] for id_, turn_id in turn_of.items() if turn_id not in hidden})


def rematch_turns(agent: Agent, *, since: int | None = None) -> int:
    """Look once more for the turns of decisions that have none: their records may have come. How many were found.

    `since`: only decisions from this moment on. One of somebody who has opted out meanwhile stays without a turn.
    """
    rows = MemoryGateDecision.objects.using(agent.db).filter(turn_id=None).order_by("-created_at")
    rows = rows if since is None else rows.filter(created_at__gte=since)
    found = 0
    for row in rows.defer("raw_response")[:AGAIN]:
        window = decision_store.windows.read(agent.db, row.window_hash)
        keys = [row.session_key, row.session_id]
        place = turn_matching.match_turn(
            agent.db, agent.agent_id, keys, row.created_at, window.reply if window else None
        )
        if place.turn_id and not consent.find_withheld_keys(agent.db, [place.turn_id]):
            decision_store.assign_turn(agent.db, row.id, place)
            found += 1
    return found


def _store_some(agent, found, source, result):
    calls: list[GateCall] = []
    told: list[Report] = []
    windows: dict[tuple[int, str | None, str | None], Window | None] = {}
    placed = [(one, _place(agent, one)) for one in _unknown(agent.db, found)]
    hidden = consent.find_withheld_keys(agent.db, [place.turn_id for _one, place in placed])
    for one, place in placed:
        if one.failure:
            calls.append(build_failed_call(one, session_id=place.session_id, turn_id=place.turn_id))
        elif place.turn_id in hidden:
            result.withheld += 1
        else:
            told.append(_told(one, place, source, _window(one, windows)))
    stored: StoreResult = decision_store.store_reports(agent.db, told)
    add_facts(agent, {one.id: one.fact for one in found if one.fact})
    result.decisions += len(stored.new)
    result.merged += len(stored.merged)
    result.failed_calls += decision_store.store_calls(agent.db, calls)


def _unknown(db, found):
    """The first decision of each id that was not stored before."""
    known = sql.find_known_ids(db, [one.id for one in found])
    calls = GateCall.objects.using(db).filter(id__in=[one.id for one in found if one.failure])
    known |= set(calls.values_list("id", flat=True))
    return list({one.id: one for one in reversed(found) if one.id not in known}.values())[::-1]


def _place(agent, one):
    """By the turn it names, where that is one of ours; else by key, time and reply."""
    turn_id = getattr(one, "turn_id", None)
    turn = ConversationTurn.objects.using(agent.db).filter(id=turn_id).first() if turn_id else None
    if turn:
        return turn_matching.TurnMatch(turn.session_id, turn.id, Match.GIVEN)
    reply = one.reply.message if one.reply else None
    return turn_matching.match_turn(agent.db, agent.agent_id, [one.session_key, one.original_key], one.at, reply)


def _told(one, place, source, window):
    row = MemoryGateDecision(
        id=one.id,
        turn_id=place.turn_id,
        session_id=place.session_id,
        match=place.match,
        session_key=one.session_key,
        decision=one.decision,
        reason=one.reason,
        candidate_fact=one.fact,
        llm_model=one.model,
        llm_latency_ms=one.latency_ms,
        prompt_tokens=getattr(one, "prompt_tokens", None),
        completion_tokens=getattr(one, "completion_tokens", None),
        raw_response=getattr(one, "raw_response", None),
        saw_user=one.saw_user,
        created_at=one.at,
        origin=Origin.IMPORTED,
    )
    return Report(row=row, source=source, window=window, other_key=one.original_key)


def _window(one, made):
    """What the gate was given, where the log tells all of it. Decisions on the same messages share one in `made`."""
    if one.window is None:
        return None
    user = getattr(one, "user_message", None)
    sides = user.message if user else None, one.reply.message if one.reply else None
    key = (id(one.window), *sides)
    if key not in made:
        said = tuple({"role": s.role, "message": s.message, "timestamp": s.timestamp} for s in one.window)
        made[key] = Window(said, *sides, one.left_out)
    return made[key]


def group_by_agent(
    found: Iterable[SourceDecision], names: dict[str, str], workspaces: dict[str, str], default: str
) -> dict[str, list[SourceDecision]]:
    """Decisions by the agent they belong to: the one of their key, else of the plugin's workspace, else `default`.

    `names` are the agents here by their names in the home, `workspaces` agents by the folder of their workspace.
    """
    sorted_out: dict[str, list[SourceDecision]] = {}
    for one in found:
        agent_id = names.get(parse_agent_name(one)) or workspaces.get((one.workspace or "").rstrip("/")) or default
        sorted_out.setdefault(agent_id, []).append(one)
    return sorted_out


def parse_agent_name(one: SourceDecision) -> str:
    """The name of the agent that the keys of a conversation name; empty: they name none."""
    return next((name for key in (one.original_key, one.session_key) if (name := _agent_in(key))), "")


def _agent_in(key):
    """The agent of a key of OpenClaw's: `agent:main:irc:group:#lab`."""
    parts = (key or "").split(":")
    return parts[1] if len(parts) > 2 and parts[0] == "agent" else ""
