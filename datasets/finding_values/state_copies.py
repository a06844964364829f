"""Copies of verdicts: the states in the summary and in the agents' files."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import QuerySet

from agents import databases
from agents.models import Agent
from findings import places
from findings import services as findings
from findings.finding_store import PERSON_RULE
from findings.models import Finding
from openclaw_web.sqlite import write_queue

from ..models import FindingValue, FindingValueAgent, FindingVerdict
from .decisions import Decisions, read_decisions, to_state

BATCH = 500  # values in one transaction
PLACES = 2_000  # in one transaction: a value may stand in a million
PLACE_COLUMNS = ("source", "source_id", "session_id", "turn_number", "rule", "value_hash", "state")
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


def copy_value_to_summary(value_hash: str) -> None:
    """Copy the verdicts on a value to its row in the summary."""
    with write_queue.global_transaction():
        value = FindingValue.objects.filter(value_hash=value_hash).first()
        if value:
            set_state(value, read_decisions([value_hash]))
            value.save(update_fields=COLUMNS)


def copy_value(value_hash: str) -> None:
    """Copy the verdicts on a value to all its places.

    Agents whose file is missing are left out.
    """
    copy_value_to_summary(value_hash)
    decisions = read_decisions([value_hash])
    for agent, db in list_holders(value_hash=value_hash):
        _copy_to_places(agent.agent_id, findings.list_value(db, value_hash), decisions)


def copy_rule(rule: str) -> None:
    """Copy the verdicts on a rule to the summary, and to the places of all agents.

    The verdicts on single values and places stay in force.
    """
    decisions = read_decisions()
    _copy_rule_to_summary(rule, decisions)
    for agent, db in list_holders():
        rows = Finding.objects.using(db).filter(rule=rule).order_by("id")
        _copy_to_places(agent.agent_id, rows, decisions)


def list_holders(**columns: str) -> list[tuple[Agent, str]]:
    """The agents whose counts have these columns, or all, with the aliases of files."""
    agents = Agent.objects.order_by("agent_id")
    if columns:
        counts = FindingValueAgent.objects.filter(**columns)
        agents = agents.filter(agent_id__in=list(counts.values_list("agent_id", flat=True)))
    return [(agent, db) for agent in agents if (db := databases.find_alias(agent.agent_id))]


def _copy_to_places(agent_id, rows: QuerySet[Finding], decisions: Decisions):
    """Set the states of findings from the verdicts in force, a part at a time."""
    last = 0
    while part := list(rows.filter(id__gt=last).only(*PLACE_COLUMNS)[:PLACES]):
        changed = defaultdict(list)
        for finding in part:
            if (state := _find_state(finding, agent_id, decisions)) != finding.state:
                changed[state].append(finding.id)
        _store_states(rows.db, changed)
        last = part[-1].id


def _find_state(finding, agent_id, decisions):
    place = places.find_place_id(finding)
    verdict = decisions.find_place_judgment(finding.rule, finding.value_hash, place, agent_id).verdict
    if finding.rule == PERSON_RULE and verdict in (Verdict.CONFIRMED, Verdict.ADDED):
        return Finding.State.ADDED.value
    return PLACE_STATES[verdict]


def _store_states(db, ids_by_state):
    if ids_by_state:
        with write_queue.agent_transaction(db):
            for state, ids in ids_by_state.items():
                for start in range(0, len(ids), BATCH):
                    Finding.objects.using(db).filter(id__in=ids[start : start + BATCH]).update(state=state)


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
