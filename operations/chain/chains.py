"""The chain of anything: who said it, turn, decision, write, line, verdict, sample, release, row, who downloaded it.

A chain follows ids alone. It starts anywhere: what led there is found backwards, and what came of that forwards.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Q
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from agents.models import Agent
from artifacts.models import Artifact
from datasets.exports.row_samples import read_samples_of
from datasets.models import DatasetExport, DatasetMember, DatasetSample, DatasetVersion, SampleLabel
from datasets.releases.lineage import find_rows
from datasets.words import TYPE_WORDS
from episodes.models import EpisodicEvent
from gate.models import MemoryGateDecision
from guardian import tool_writes
from guardian.detail.line_blame import blame_file, find_remaining_by_write
from guardian.models import BehaviorCorrection, WriteGuardianAudit
from ledger import consent
from ledger.models import ConversationTurn, Session, TranscriptEvent
from ledger.session.evidence import get_speaker_name
from openclaw_web import capabilities
from openclaw_web.pages import states
from people.models.bookkeeping import AuditEntry

MOST = 200  # rows of each step
MOST_IDS = 5_000  # ids that a chain follows
MOST_SAMPLES = 50  # whose rows of files are looked for
MOST_SESSIONS = 10  # whose tool calls are read
MOST_UNNAMED = 3  # writes whose call is searched
MOST_DIGITS = 12
OWNERS = {
    "decision": "gate",
    **dict.fromkeys(("write", "line"), "guardian"),
    **dict.fromkeys(("sample", "verdict", "release", "row", "download"), "datasets"),
}  # the capability of a step
LABELS = {
    "person": gettext_lazy("Who said it"),
    "turn": gettext_lazy("Turn"),
    "decision": gettext_lazy("Decision"),
    "write": gettext_lazy("Write"),
    "line": gettext_lazy("Line"),
    "verdict": gettext_lazy("Verdict"),
    "sample": gettext_lazy("Sample"),
    "release": gettext_lazy("Release"),
    "row": gettext_lazy("Row of a file"),
    "download": gettext_lazy("Downloaded by"),
}
KINDS = ("session", "turn", "decision", "write", "line", "verdict", "sample", "release", "row", "event", "artifact")
OF_AGENT = frozenset(KINDS) - {"verdict", "sample", "release", "row"}


@dataclass(frozen=True, slots=True)
class Node:
    """One thing in a step of a chain; `href` is empty where it has no page.

    `stems` of a turn is the page of everything that stems from it.
    """

    title: str
    href: str = ""
    at: int | None = None
    id: str = ""
    stems: str = ""


@dataclass(slots=True)
class Step:
    """A step with its things, or the reason why there is none. `is_start` is where the chain was asked for."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    reason: str = ""
    is_start: bool = False

    @property
    def label(self) -> str:
        return str(LABELS[self.name])


@dataclass(slots=True)
class Links:
    """The ids of an agent that one chain has. `is_whole`: everything that came of its turns belongs to it."""

    turns: set[str] = field(default_factory=set)
    decisions: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    samples: set[str] = field(default_factory=set)
    is_whole: bool = False


def build_chain(kind: str, key: str, agent: Agent | None = None) -> list[Step]:
    """Build the chain of a thing: ten steps. Raises Http404 when it is not stored."""
    start = {"session": "turn", "event": "turn", "artifact": "turn"}.get(kind, kind)
    links_by_agent, lone_line = find_links(kind, key, agent), None
    if kind == "line" and agent:
        name, _sign, number = key.rpartition(":")
        address = reverse("guardian:file_detail", args=[agent.agent_id, name])
        lone_line = Node(key, f"{address}?line={number}", None, key)
    return list_steps(links_by_agent, start, lone_line)


def list_steps(links_by_agent: dict[str, Links], start: str, lone_line: Node | None = None) -> list[Step]:
    """Return the ten steps of a chain with these ids, from who said it to who downloaded it.

    `lone_line` is one of no known write.
    """
    nodes = defaultdict(list)
    for agent_id, links in links_by_agent.items():
        for name, step_nodes in _list_nodes(agent_id, links).items():
            nodes[name] += step_nodes if OWNERS.get(name, "") not in settings.DISABLED else []
    if lone_line and not nodes["line"] and OWNERS["line"] not in settings.DISABLED:
        nodes["line"].append(lone_line)
    return [
        Step(name, nodes[name], "" if nodes[name] else _explain(name, nodes, links_by_agent), name == start)
        for name in LABELS
    ]


def find_links(kind: str, key: str, agent: Agent | None = None) -> dict[str, Links]:
    """Return the ids that a chain has, by agent. Raises Http404 when the thing is not stored."""
    starts = _find_samples(kind, key) if agent is None else {agent.agent_id: _find_start(agent, kind, key)}
    if not starts and not (kind == "release" and DatasetVersion.objects.filter(id=key).exists()):
        raise Http404
    for agent_id, links in starts.items():
        if db := databases.find_alias(agent_id):
            _follow(agent_id, db, links)
    return starts


def follow_turns(agent_id: str, db: str, turn_ids: Iterable[str]) -> Links:
    """Return the ids of everything that came of these turns."""
    links = Links(turns=set(turn_ids), is_whole=True)
    _follow(agent_id, db, links)
    return links


def _find_start(agent, kind, key):
    """The ids that a thing of an agent names itself."""
    db, links = agent.db, Links()
    if kind in ("session", "turn", "event", "artifact"):
        links.is_whole = True
    if kind == "session":
        links.turns = set(
            ConversationTurn.objects.using(db).filter(session_id=key).values_list("id", flat=True)[:MOST_IDS]
        )
        is_stored = Session.objects.using(db).filter(id=key).exists()
    elif kind == "turn":
        turns = ConversationTurn.objects.using(db)
        turn = turns.filter(id=key).only("created_at", "user_message_id").first()
        is_stored = turn is not None
        if turn is not None:  # forked sessions have copies of it
            copies = turns.filter(created_at=turn.created_at, user_message_id=turn.user_message_id)
            links.turns = {key, *copies.exclude(user_message_id=None).values_list("id", flat=True)[:MOST]}
    elif kind == "decision":
        links.decisions, is_stored = {key}, MemoryGateDecision.objects.using(db).filter(id=key).exists()
    elif kind == "write":
        links.writes, is_stored = {key}, WriteGuardianAudit.objects.using(db).filter(id=key).exists()
    elif kind == "line":
        name, _sign, number = key.rpartition(":")
        blame = blame_file(agent, name)
        line = next((line for line in blame.lines if str(line.number) == number), None) if blame else None
        links.writes, is_stored = {line.audit_id} - {None} if line else set(), line is not None
    elif kind == "artifact":
        uses = Artifact.objects.using(db).filter(Q(handle=key) | Q(handle__endswith=f":{key}") | Q(id=key))[:MOST]
        links.turns, is_stored = _find_turns_of_records(db, uses), bool(uses)
    else:
        event = EpisodicEvent.objects.using(db).filter(event_id=key).first()
        refs = event.refs if event and isinstance(event.refs, dict) else {}
        links.turns = {name for name in (refs.get("turn"),) if isinstance(name, str)}
        links.writes = {name for name in refs.get("memory_ids") or () if isinstance(name, str)}
        is_stored = event is not None
    if not is_stored:
        raise Http404
    return links


def _find_turns_of_records(db, uses):
    turns = {use.turn_id for use in uses if use.turn_id}
    for use in uses:
        if use.record_id and use.session_id and not use.turn_id:
            events = TranscriptEvent.objects.using(db).filter(session_id=use.session_id, event_id=use.record_id)
            numbers = list(events.values_list("turn_number", flat=True))
            of_session = ConversationTurn.objects.using(db).filter(session_id=use.session_id, turn_number__in=numbers)
            turns |= set(of_session.values_list("id", flat=True))
    return turns


def _find_samples(kind, key):
    """The samples of something that has no agent of its own, by agent."""
    ids: Iterable[str] = ()
    if kind == "sample":
        ids = [key]
    elif kind == "verdict":
        ids = SampleLabel.objects.filter(id=key).values_list("sample_id", flat=True)
    elif kind == "release":
        ids = DatasetMember.objects.filter(version_id=key).order_by("id").values_list("sample_id", flat=True)[:MOST_IDS]
    elif kind == "row":
        export_id, side, number = (*key.split(":"), "", "")[:3]
        if (
            len(number) < MOST_DIGITS
            and number.isdecimal()
            and DatasetExport.objects.filter(id=export_id).exists()
            and side in ("train", "validation", "test")
        ):
            ids = read_samples_of(export_id, side, int(number), DatasetSample.objects.values_list("id", flat=True))
    links_by_agent: dict[str, Links] = defaultdict(Links)
    for sample_id, agent_id in DatasetSample.objects.filter(id__in=list(ids)).values_list("id", "agent_id"):
        links_by_agent[agent_id].samples.add(sample_id)
    return links_by_agent


def _follow(agent_id, db, links):
    """Complete the ids of a chain: backwards to its turns, then forwards."""
    samples = DatasetSample.objects.filter(id__in=links.samples).values_list("turn_id", "decision_id", "audit_id")
    for turn_id, decision_id, audit_id in samples:
        links.turns |= {turn_id} - {None}
        links.decisions |= {decision_id} - {None}
        links.writes |= {audit_id} - {None}
    writes = WriteGuardianAudit.objects.using(db)
    for write in writes.filter(id__in=links.writes).defer("diff", "hunks_json")[:MOST]:
        links.turns |= {write.turn_id} - {None}
        links.decisions |= {write.decision_id} - {None}
        if write.turn_id is None and write.decision_id is None and len(links.writes) <= MOST_UNNAMED:
            call = tool_writes.find_call(Agent.objects.get(agent_id=agent_id), write)
            of_session = ConversationTurn.objects.using(db).filter(session_id=call.session_id) if call else None
            if of_session is not None:
                links.turns |= set(of_session.filter(turn_number=call.turn_number).values_list("id", flat=True))
    decisions = MemoryGateDecision.objects.using(db)
    links.turns |= set(decisions.filter(id__in=links.decisions).values_list("turn_id", flat=True)) - {None}
    if links.is_whole:
        links.decisions |= set(decisions.filter(turn_id__in=links.turns).values_list("id", flat=True)[:MOST_IDS])
        links.writes |= set(writes.filter(turn_id__in=links.turns).values_list("id", flat=True)[:MOST_IDS])
        versions = {write.version_id for _name, write in find_turn_writes(agent_id, db, links)}
        unnamed = writes.filter(after_snapshot_id__in=versions, turn_id=None)
        links.writes |= set(unnamed.values_list("id", flat=True)[:MOST])
    links.writes |= set(writes.filter(decision_id__in=links.decisions).values_list("id", flat=True)[:MOST_IDS])
    if not links.samples or links.is_whole:
        of_agent = DatasetSample.objects.filter(agent_id=agent_id)
        about = Q(decision_id__in=links.decisions) | Q(audit_id__in=links.writes)
        whole = {} if links.is_whole else {"sample_type": DatasetSample.Type.ANNOTATED_TURN}
        about |= Q(turn_id__in=links.turns, **whole)  # other decisions of a turn have samples of their own
        links.samples |= set(of_agent.filter(about).values_list("id", flat=True)[:MOST_IDS])


def find_turn_writes(agent_id: str, db: str, links: Links) -> list[tuple[str, tool_writes.ToolWrite]]:
    """Return the calls of the turns of a chain that certainly wrote to memory files or daily notes, with the names."""
    numbers_by_session = defaultdict(list)
    turns = ConversationTurn.objects.using(db).filter(id__in=links.turns)
    for session_id, number in turns.values_list("session_id", "turn_number"):
        numbers_by_session[session_id].append(number)
    agent = Agent.objects.get(agent_id=agent_id)
    sessions = list(numbers_by_session.items())[:MOST_SESSIONS]
    return [pair for session in sessions for pair in tool_writes.find_turn_writes(agent, *session)]


def _list_nodes(agent_id, links):
    """The things of each step, as pages name them."""
    nodes: dict[str, list[Node]] = defaultdict(list)
    if (db := databases.find_alias(agent_id)) is not None:
        _list_agent_nodes(agent_id, db, links, nodes)
    samples = DatasetSample.objects.filter(id__in=links.samples).order_by("-created_at", "id")
    for sample in samples.only("id", "sample_type", "annotation_status", "created_at")[:MOST]:
        type_word = TYPE_WORDS.get(sample.sample_type, sample.sample_type)
        title = f"{type_word} · {states.word(sample.annotation_status)}"
        nodes["sample"].append(Node(title, sample.get_absolute_url(), sample.created_at, sample.id))
    labels = SampleLabel.objects.filter(sample_id__in=links.samples).order_by("-labelled_at")
    for label in labels.only("id", "status", "labelled_by", "labelled_at", "sample_id")[:MOST]:
        address = reverse("datasets:sample_detail", args=[label.sample_id])
        nodes["verdict"].append(
            Node(f"{label.labelled_by}: {states.word(label.status)}", address, label.labelled_at, label.id)
        )
    members = DatasetMember.objects.filter(sample_id__in=links.samples, version__state="released")
    for member in members.select_related("version__dataset").order_by("-version__released_at")[:MOST]:
        version = member.version
        node = Node(
            f"{version.dataset.name} {version.number}", version.get_absolute_url(), version.released_at, version.id
        )
        nodes["release"] += [node] if node not in nodes["release"] else []
    exports, sides = {}, defaultdict(set)
    approved_first = DatasetSample.objects.filter(id__in=links.samples).order_by("annotation_status", "id")
    for sample_id in approved_first.values_list("id", flat=True)[:MOST_SAMPLES]:
        for place in find_rows(sample_id):
            exports[place.export.id] = place.export
            sides[place.export.id].add(f".{place.side}.")
            title = f"{place.export.export_name}, {place.side} {place.row}"
            address = place.address or place.export.get_absolute_url()
            key = f"{place.export.id}:{place.side}:{place.row}"
            nodes["row"].append(Node(title, address, place.export.exported_at, key))
    entries = AuditEntry.objects.filter(action="downloaded", object_type="export", object_id__in=list(exports))
    for entry in entries.order_by("-at")[:MOST]:
        export, file = exports[entry.object_id], entry.detail.get("file", "")
        if file and not any(side in file for side in sides[export.id]):
            continue  # a description, or rows of another side
        nodes["download"].append(
            Node(f"{entry.actor}: {export.export_name}", export.get_absolute_url(), entry.at, str(entry.id))
        )
    return nodes


def _list_agent_nodes(agent_id, db, links, nodes):
    turns = ConversationTurn.objects.using(db).filter(id__in=links.turns).order_by("created_at", "id")
    turns = list(turns.select_related("session")[:MOST])
    hidden = consent.find_withheld(db, turns)
    for turn in turns:
        address = f"{turn.session.get_absolute_url()}?turn={turn.turn_number}"
        speaker = get_speaker_name(turn)
        if not speaker and turn.session.origin == "direct":  # then all of its words are theirs
            speaker = turn.session.conversation_target or ""
        speaker = speaker if turn.id not in hidden else ""
        if speaker and speaker not in {node.title for node in nodes["person"]}:
            nodes["person"].append(Node(speaker, address, turn.created_at))
        title = _("%(session)s, turn %(number)s") % {
            "session": turn.session.title[:80] or turn.session_id,
            "number": turn.turn_number,
        }
        stems = reverse("operations:remediation", args=[agent_id, turn.id])
        nodes["turn"].append(Node(title, address, turn.created_at, turn.id, stems))
    for row in MemoryGateDecision.objects.using(db).filter(id__in=links.decisions).order_by("created_at", "id")[:MOST]:
        nodes["decision"].append(
            Node(row.decision, reverse("gate:decision_detail", args=[agent_id, row.id]), row.created_at, row.id)
        )
    writes = WriteGuardianAudit.objects.using(db).filter(id__in=links.writes).order_by("created_at", "id")[:MOST]
    for row in writes.defer("diff", "hunks_json"):
        title = f"{row.target_file or '–'} · {states.word(row.status)}"
        nodes["write"].append(Node(title, row.get_absolute_url(), row.created_at, row.id))
    remaining = find_remaining_by_write(Agent.objects.get(agent_id=agent_id), links.writes) if links.writes else {}
    for name, number, text in sorted({line for lines in remaining.values() for line in lines})[:MOST]:
        address = f"{reverse('guardian:file_detail', args=[agent_id, name])}?{urlencode({'q': text.strip()[:80]})}"
        nodes["line"].append(Node(f"{name}:{number} {text[:80]}", address, None, f"{name}:{number}"))
    corrections = BehaviorCorrection.objects.using(db).filter(audit_id__in=links.writes).order_by("-corrected_at")
    for row in corrections[:MOST]:
        address = reverse("guardian:corrections", args=[agent_id, row.audit_id])
        nodes["verdict"].append(
            Node(f"{row.corrected_by}: {states.word(row.corrected_status)}", address, row.corrected_at, row.id)
        )


def _explain(name, nodes, links_by_agent):
    """Why a step of a chain has nothing, in a sentence."""
    if OWNERS.get(name, "") in settings.DISABLED:
        return capabilities.describe(OWNERS[name])
    if name in ("person", "turn"):
        has_turns = any(links.turns for links in links_by_agent.values())
        if name == "person" and nodes["turn"]:
            return _("No channel named a person, or the person opted out.")
        return _("Its turn is not stored any more.") if has_turns else _("The turn is not known: no source named it.")
    if name == "line" and nodes["write"]:
        return _("No file has a line of these writes now.")
    reasons: dict[str, Any] = {
        "decision": _("The gate decided nothing about it."),
        "write": _("Who wrote it last is not known.") if nodes["line"] else _("Nothing was written."),
        "line": _("Nothing was written."),
        "verdict": _("Nobody has judged it."),
        "sample": _("It is no sample."),
        "release": _("It is in no release."),
        "row": _("No file of an export has it."),
        "download": _("Nobody has downloaded a file with it."),
    }
    return reasons[name]


def to_json(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """The chain as the API has it."""
    return [
        {
            "step": step.name,
            "is_start": step.is_start,
            "reason": step.reason or None,
            "items": [{"id": node.id, "title": node.title, "address": node.href, "at": node.at} for node in step.nodes],
        }
        for step in steps
    ]
