"""Copies of verdicts: the states in the summary and in the agents' files."""

from collections.abc import Collection, Iterator
from itertools import islice

from agents import databases
from agents.models import Agent
from findings import services as findings
from findings.finding_store import PERSON_RULE
from findings.models import Finding
from openclaw_web.sqlite import write_queue

from ..models import FindingValue, FindingValueAgent, FindingVerdict
from .decisions import NONE, Decisions, read_decisions, to_state

BATCH = 500  # values in one transaction
COLUMNS = ("state", "decided_by", "decided_at")
Verdict = FindingVerdict.Verdict
# The state of a place by the verdict in force. One that a person added is so as long as nobody dismisses it.
PLACE_STATES = {
    "": Finding.State.OPEN.value,
    Verdict.CONFIRMED.value: Finding.State.CONFIRMED.value,
    Verdict.ADDED.value: Finding.State.CONFIRMED.value,
    Verdict.DISMISSED.value: Finding.State.DISMISSED.value,
}


def set_state(value: FindingValue, decisions: Decisions) -> None:
    """Set state, person and time of a value from the verdict in force; nothing is stored."""
    judgment = decisions.find_judgment(value.rule, value.value_hash)
    value.state = to_state(judgment.verdict)
    value.decided_by, value.decided_at = judgment.by or None, judgment.at or None


def copy_to_values(agent_id: str, db: str, value_hashes: Collection[str], decisions: Decisions) -> None:
    """Copy the verdicts on these values into an agent's file, in the caller's transaction."""
    rows = Finding.objects.using(db).filter(value_hash__in=list(value_hashes), rule__in=list(decisions.rules))
    for value_hash, rule in rows.values_list("value_hash", "rule").distinct() if decisions.rules else ():
        _set_places(db, decisions.rules[rule].verdict, value_hash=value_hash, rule=rule)
    for value_hash in value_hashes:
        if judgment := decisions.values.get(value_hash):
            _set_places(db, judgment.verdict, value_hash=value_hash)
        for place, by_agent in decisions.places.get(value_hash, {}).items():
            if judgment := by_agent.get(agent_id):
                _set_places(db, judgment.verdict, value_hash=value_hash, place=place)


def copy_value(value_hash: str) -> list[Agent]:
    """Copy the verdicts on a value to all its places; return the agents.

    Agents whose file is missing are left out.
    """
    decisions = read_decisions([value_hash])
    with write_queue.global_transaction():
        value = FindingValue.objects.filter(value_hash=value_hash).first()
        if value:
            set_state(value, decisions)
            value.save(update_fields=COLUMNS)
    ids = FindingValueAgent.objects.filter(value_hash=value_hash).values_list("agent_id", flat=True)
    agents = []
    for agent, db in _open_agents(ids):
        with write_queue.agent_transaction(db):
            _set_places(db, "", value_hash=value_hash)
            copy_to_values(agent.agent_id, db, [value_hash], decisions)
        agents.append(agent)
    return agents


def copy_rule(rule: str) -> list[Agent]:
    """Copy a verdict on a rule to the places of all agents; return the agents.

    The verdicts on single values and places stay in force.
    """
    decisions = read_decisions()
    _copy_rule_to_summary(rule, decisions)
    agents = []
    for agent, db in _open_agents(Agent.objects.values_list("agent_id", flat=True)):
        own = FindingValueAgent.objects.filter(agent_id=agent.agent_id)
        judged = iter(dict.fromkeys([*decisions.values, *decisions.places]))
        with write_queue.agent_transaction(db):
            _set_places(db, decisions.rules.get(rule, NONE).verdict, rule=rule)
        while batch := list(islice(judged, BATCH)):
            present = set(own.filter(value_hash__in=batch).values_list("value_hash", flat=True))
            with write_queue.agent_transaction(db):
                copy_to_values(agent.agent_id, db, present, decisions)
        agents.append(agent)
    return agents


def _set_places(db, verdict, **subject):
    findings.set_state(db, PLACE_STATES[verdict], **subject)
    if verdict in (Verdict.CONFIRMED, Verdict.ADDED) and subject.get("rule") in (None, PERSON_RULE):
        findings.set_state(db, Finding.State.ADDED.value, **subject | {"rule": PERSON_RULE})


def _copy_rule_to_summary(rule, decisions):
    last = ""
    while True:
        with write_queue.global_transaction():  # a part at a time, because everybody who labels waits for it
            rows = FindingValue.objects.filter(value_hash__gt=last, rule=rule).order_by("value_hash")
            part = list(rows[:BATCH])
            for value in part:
                set_state(value, decisions)
            FindingValue.objects.bulk_update(part, COLUMNS)
        if len(part) < BATCH:
            return
        last = part[-1].value_hash


def _open_agents(agent_ids) -> Iterator[tuple[Agent, str]]:
    for agent in Agent.objects.filter(agent_id__in=list(agent_ids)).order_by("agent_id"):
        if db := databases.find_alias(agent.agent_id):
            yield agent, db
