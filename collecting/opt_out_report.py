"""Where the words of people who opted out still are after they left the store: for a person to decide."""

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
    """What holds words that were withheld or taken out now, at most 500 of each kind.

    `made_again` is what collecting again came to, by agent. Artifacts are contents no record of theirs uses any more;
    `artifact gc` removes those that nobody else uses. Each backup there is was made before and counts.
    """
    samples, decisions, writes, handles = [], [], [], set()
    for agent_id, made in made_again.items():
        samples += _samples(agent_id, made)
        decisions += [f"{agent_id}/{one}" for one in _decisions(databases.get_alias(agent_id), made)]
        writes += [f"{agent_id}/{one}" for one in _writes(databases.get_alias(agent_id), made)]
        handles |= made.artifacts
    is_any = any(made.withheld or made.taken_out for made in made_again.values())
    return {
        "samples": samples[:LISTED],
        "decisions": decisions[:LISTED],
        "writes": writes[:LISTED],
        "artifacts": [{"handle": one, "used_by": _users(one)} for one in sorted(handles)[:LISTED]],
        "backups": import_string(settings.BACKUPS_THAT_ARE_THERE)(LISTED) if is_any else [],
    }


def _samples(agent_id, made):
    of_agent = DatasetSample.objects.filter(agent_id=agent_id).order_by("id")
    found = list(of_agent.filter(session_id__in=made.taken_out).values_list("id", flat=True)[:LISTED])
    for session_id, words in made.words.items():
        told = [orjson.dumps(word).decode() for word in words]  # as it stands in the content, which is JSON
        rows = of_agent.filter(session_id=session_id).values_list("id", "content", "output")
        found += [one for one, content, output in rows if _holds(content, told) or _holds(output, words)]
    return found


def _decisions(db, made):
    """Decisions of memory_gate, each once; what a model made of words cannot be compared with them."""
    found = _of_sessions(db, MemoryGateDecision, made.taken_out)
    for session_id, record_ids in made.withheld.items():
        turns, words = _turns(session_id, record_ids), made.words[session_id]
        rows = MemoryGateDecision.objects.using(db).filter(session_id=session_id).order_by("created_at", "id")
        some = rows.only("id", "turn_id", "window_hash").iterator(chunk_size=CHUNK)
        found += [row.id for row in some if row.turn_id in turns or _saw(db, row.window_hash, words)]
    return found


def _saw(db, window_hash, words):
    window = windows.read_window(db, window_hash)
    if window is None:
        return False
    seen = {message["message"] for message in window.recent} | {window.user, window.reply}
    return not seen.isdisjoint(words)


def _writes(db, made):
    """Writes to memory files from turns that were withheld or taken out: their facts were made of those words."""
    found = _of_sessions(db, WriteGuardianAudit, made.taken_out)
    for session_id, record_ids in made.withheld.items():
        turns = sorted(_turns(session_id, record_ids))
        for start in range(0, len(turns), CHUNK):
            rows = WriteGuardianAudit.objects.using(db).filter(turn_id__in=turns[start : start + CHUNK])
            found += rows.order_by("created_at", "id").values_list("id", flat=True)
    return found


def _of_sessions(db, model, session_ids):
    rows = model.objects.using(db).filter(session_id__in=session_ids).order_by("created_at", "id")
    return list(rows.values_list("id", flat=True)) if session_ids else []


def _turns(session_id, record_ids):
    """The turns that these records of a session began."""
    return {f"{session_id}:{record_id}" for record_id in record_ids}


def _holds(text, words):
    return any(word in (text or "") for word in words)


def _users(handle):
    """Agents with records that still use a content."""
    agents = Agent.objects.order_by("agent_id")
    return [one.agent_id for one in agents if Artifact.objects.using(one.db).filter(handle=handle).exists()]
