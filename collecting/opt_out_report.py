"""Reports where text of people who opted out still is, for a person to decide."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.conf import settings
from django.utils.module_loading import import_string

from agents import databases
from agents.models import Agent
from artifacts.models import Artifact
from datasets.models import DatasetSample
from gate.models import MemoryGateDecision
from gate.recording import windows
from guardian.models import WriteGuardianAudit

LISTED = CHUNK = 500


def build_report(made_again: Mapping[str, Any]) -> dict[str, Any]:
    """List places with withheld or removed text, at most 500 of each kind.

    `made_again` are the results of the repeated import by agent. Artifacts are contents that no record of theirs uses
    any more; `artifact gc` removes those without other users. All existing backups are older than the removal, so each
    of them counts.
    """
    samples, decisions, writes, handles = [], [], [], set()
    for agent_id, totals in made_again.items():
        of_agent = DatasetSample.objects.filter(agent_id=agent_id).order_by("id")
        sample_ids = list(of_agent.filter(session_id__in=totals.taken_out).values_list("id", flat=True)[:LISTED])
        for session_id, words in totals.words.items():
            encoded_words = [orjson.dumps(word).decode() for word in words]  # as in the content, which is JSON
            rows = of_agent.filter(session_id=session_id).values_list("id", "content", "output")
            sample_ids += [
                sample_id
                for sample_id, content, output in rows
                if _contains_any(content, encoded_words) or _contains_any(output, words)
            ]
        samples += sample_ids
        decisions += [f"{agent_id}/{item}" for item in _find_decisions(databases.get_alias(agent_id), totals)]
        writes += [f"{agent_id}/{item}" for item in _find_writes(databases.get_alias(agent_id), totals)]
        handles |= totals.artifacts
    is_any = any(totals.withheld or totals.taken_out for totals in made_again.values())
    return {
        "samples": samples[:LISTED],
        "decisions": decisions[:LISTED],
        "writes": writes[:LISTED],
        "artifacts": [{"handle": item, "used_by": _find_users(item)} for item in sorted(handles)[:LISTED]],
        "backups": import_string(settings.BACKUPS_THAT_ARE_THERE)(LISTED) if is_any else [],
    }


def _find_decisions(db, totals):
    """Decisions of memory_gate, each once.

    Texts that a model wrote cannot be compared with the withheld text.
    """
    decision_ids = _find_ids(db, MemoryGateDecision, totals.taken_out)
    for session_id, record_ids in totals.withheld.items():
        turns, words = _build_turn_ids(session_id, record_ids), totals.words[session_id]
        rows = MemoryGateDecision.objects.using(db).filter(session_id=session_id).order_by("created_at", "id")
        decisions = rows.only("id", "turn_id", "window_hash").iterator(chunk_size=CHUNK)
        decision_ids += [row.id for row in decisions if row.turn_id in turns or _has_seen(db, row.window_hash, words)]
    return decision_ids


def _has_seen(db, window_hash, words):
    window = windows.read_window(db, window_hash)
    if window is None:
        return False
    seen = {message["message"] for message in window.recent} | {window.user, window.reply}
    return not seen.isdisjoint(words)


def _find_writes(db, totals):
    """Writes to memory files from withheld or removed turns, whose text their facts may contain."""
    write_ids = _find_ids(db, WriteGuardianAudit, totals.taken_out)
    for session_id, record_ids in totals.withheld.items():
        turns = sorted(_build_turn_ids(session_id, record_ids))
        for start in range(0, len(turns), CHUNK):
            rows = WriteGuardianAudit.objects.using(db).filter(turn_id__in=turns[start : start + CHUNK])
            write_ids += rows.order_by("created_at", "id").values_list("id", flat=True)
    return write_ids


def _find_ids(db, model, session_ids):
    rows = model.objects.using(db).filter(session_id__in=session_ids).order_by("created_at", "id")
    return list(rows.values_list("id", flat=True)) if session_ids else []


def _build_turn_ids(session_id, record_ids):
    """The ids of the turns that these records of a session began."""
    return {f"{session_id}:{record_id}" for record_id in record_ids}


def _contains_any(text, words):
    return any(word in (text or "") for word in words)


def _find_users(handle):
    """Agents with records that still use a content."""
    agents = Agent.objects.order_by("agent_id")
    return [agent.agent_id for agent in agents if Artifact.objects.using(agent.db).filter(handle=handle).exists()]
