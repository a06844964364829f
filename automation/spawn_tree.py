"""All that a turn, or a whole session, started: sub-agents, scheduled runs, sends and background work, as a tree.

Costs are the stored sums of turns and sessions, each counted once however often it was started.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

from django.db import DatabaseError
from django.db.models import Q
from django.shortcuts import get_object_or_404
from pydantic import Field, PrivateAttr

from agents import databases
from agents.models import Agent
from agents.services import AGENT_ID
from ledger import consent
from ledger.collectors import answers
from ledger.collectors.records import Facts, ToolCall, read_facts
from ledger.models import ConversationTurn, Session
from ledger.outputs import calls
from ledger.transcripts import origins
from openclaw_web.endpoints.schemas import Schema
from openclaw_web.sqlite.json_columns import decode

from . import subagent_runs
from .models import CronJob, CronRunLog, DeliveryQueueEntry, SubagentRun, TaskRun

MAX_DEPTH = 6
MAX_NODES = 200
ENOUGH = MAX_NODES + 1  # rows of one kind: with more of them the tree is full
SPAWNED = ("subagent", "acp")  # origins of sessions that belong to who started them
CRON_ACTIONS = ("add", "create", "run")
LABEL = 200  # characters
AROUND_MS = 3_600_000  # between a message to a session and the turn that it began
LIKE = 1_000  # characters of a key, and of a message by which the turn is found that it began
Place = tuple[str, str, int | None]  # agent, session, turn or all of it


class Node(Schema):
    """A turn or a session, or what it started."""

    kind: Literal["turn", "session", "subagent", "schedule", "run", "send", "message", "task", "delivery"]
    label: str = Field("", description="empty for sub-agents and tasks while somebody has opted out")
    status: str = Field("", description="as OpenClaw says it; empty: not known")
    delivery: str = Field("", description="whether its result arrived, as OpenClaw says it; empty: not known")
    started_at: int | None = None
    ended_at: int | None = None
    agent_id: str = ""
    session_id: str | None = Field(None, description="null: no session, or none that is stored")
    turn_number: int | None = Field(None, description="null: the whole session")
    record_id: str | None = Field(None, description="result of the call that started it")
    cost_usd: float | None = None
    unpriced_tokens: int = 0
    is_counted: bool = Field(False, description="its cost is part of the total; each turn and session counts once")
    children: list["Node"] = Field(default_factory=list)
    _session: Session | None = PrivateAttr(None)
    _turn: ConversationTurn | None = PrivateAttr(None)


class Tree(Schema):
    root: Node
    count: int = Field(1, description="of its nodes, the root included")
    more: int = Field(0, description="at least so many are left out, also of sums: at most 200 are read, on 6 levels")
    started_cost_usd: float = Field(0, description="known cost of all that the root started")
    total_cost_usd: float = Field(0, description="known cost of the root and of all that it started")
    unpriced_tokens: int = Field(0, description="tokens without a known cost, of all of these")


def read_tree(agent: Agent, session_id: str, number: int | None = None) -> Tree:
    """Return what a session started; with `number`, what this turn of it started. Raises Http404."""
    session = get_object_or_404(Session.objects.using(agent.db), id=session_id)
    turn = None if number is None else get_object_or_404(session.turns, turn_number=number)
    tree = Tree(root=Node(kind="turn" if turn else "session", started_at=(turn or session).created_at))
    # The session of a turn never counts as a whole: the turn would count twice.
    seen: dict[Place, Node | None] = {(session.agent_id, session.id, None): None}
    tree.root._session, tree.root._turn = session, turn
    _add_started(tree, seen, tree.root, 0)
    for (agent_id, session_id, number), node in seen.items():
        if node and (number is None or not seen.get((agent_id, session_id, None))):
            node.is_counted = True
            tree.total_cost_usd += node.cost_usd or 0
            tree.unpriced_tokens += node.unpriced_tokens
    tree.started_cost_usd = tree.total_cost_usd - (tree.root.cost_usd or 0)
    return tree


def _add_started(tree, seen, node, depth):
    """Add what a turn or a session started, unless it was seen before."""
    session, turn, sums = node._session, node._turn, node._turn or node._session
    node.agent_id, node.session_id, node.turn_number = place = (session.agent_id, session.id, turn and turn.turn_number)
    node.cost_usd, node.unpriced_tokens = sums.cost_usd, sums.unpriced_tokens
    if depth and place in seen:
        return
    seen[place] = node
    for child in _find_started(session, turn):
        if depth >= MAX_DEPTH or tree.count >= MAX_NODES:
            tree.more += 1
            return
        tree.count += 1
        node.children.append(child)
        child.agent_id = child.agent_id or session.agent_id
        if child._session:
            _add_started(tree, seen, child, depth + 1)


def _find_started(session, turn) -> Iterator[Node]:
    """Find what a session or a turn started: by its calls, and by its key and time."""
    until = session.events.filter(seq=turn.last_seq).values_list("created_at", flat=True).first() if turn else None
    window = ((turn or session).created_at, until or session.last_activity_at)
    keys = [session.session_key] if session.session_key else []  # what nobody requested has no key either
    own = {"agent_id": session.agent_id, "requester_session_key__in": keys, "created_at__range": window}
    children: dict[str, Node] = {}  # sub-agents and tasks by the key of their session, or their own id
    for event, facts, call in _read_calls(session, turn):
        node = Node(kind="message", started_at=event.created_at, record_id=event.event_id)
        node.status = "failed" if facts.is_failed else ""
        if facts.tool_name not in origins.SPAWNERS:
            yield from _read_call(session, node, facts, call)
            continue
        node.kind, node.label = "subagent", str(call.arguments.get("label") or call.arguments.get("task") or "")
        children[str((facts.details or decode(facts.text)).get("childSessionKey") or event.event_id)] = node
    for row in SubagentRun.objects.filter(Q(child_session_key__in=list(children)) | Q(**own))[:ENOUGH]:
        run = subagent_runs.build_run(None, row, {})
        node = children.setdefault(row.child_session_key, Node(kind="subagent", label=run.label or run.task))
        node.status, node.started_at, node.ended_at = run.outcome or "running", run.created_at, run.ended_at
    for task in TaskRun.objects.filter(**own)[:ENOUGH]:
        fresh = Node(kind="task", label=task.label or task.task, started_at=task.started_at or task.created_at)
        node = children.setdefault(task.child_session_key or task.task_id, fresh)
        node.status, node.delivery = node.status or task.status, task.delivery_status
        node.ended_at = node.ended_at or task.ended_at
    is_hidden = bool(children and consent.read_opted_out())  # nobody can tell whose words the labels are
    for key, node in children.items():
        node.label = "" if is_hidden else node.label[:LABEL]
        # Conversations are not started: a key that names one leads nowhere, and costs nothing.
        for node._session in [child for child in _find_sessions(session, key) if child.origin in SPAWNED] or [None]:
            yield node.model_copy(update={"children": []})
    queued = DeliveryQueueEntry.objects.filter(agent_id=session.agent_id, session_key__in=keys)
    for entry in queued.filter(enqueued_at__range=window)[:ENOUGH]:
        yield Node(kind="delivery", label=entry.channel, delivery=entry.status, started_at=entry.enqueued_at)


def _read_calls(session, turn):
    """Read the results of calls that start or send something, with their calls."""
    if not turn and not session.tools.filter(tool__in=origins.STARTERS).exists():
        return
    events = session.events.filter(kind="tool_result", tool_name__in=origins.STARTERS, repeat_of=None).order_by("seq")
    if turn:
        events = events.filter(seq__range=(turn.first_seq, turn.last_seq), turn_number=turn.turn_number)
    results = {event.event_id: (event, read_facts(event.record)) for event in events[:ENOUGH]}
    uses = [
        {"id": name, "session_id": session.id, "record_id": name, "tool_call_id": facts.tool_call_id}
        for name, (_, facts) in results.items()
    ]
    found_calls = calls.read_calls(session._state.db, uses)
    for name, (event, facts) in results.items():
        yield event, facts, found_calls.get(name) or ToolCall("", "", {})


def _read_call(session, node: Node, facts: Facts, call: ToolCall) -> Iterator[Node]:
    """Read what a call of another tool than sessions_spawn started; `node` has its time."""
    value, action = facts.details or decode(facts.text), str(call.arguments.get("action")).lower()
    if facts.tool_name == "cron" and action in CRON_ACTIONS:
        job_id = str(value.get("id") or call.arguments.get("jobId") or call.arguments.get("id"))
        job = CronJob.objects.filter(id=job_id).first()
        node.kind, node.label = "schedule", (job.name if job else job_id)[:LABEL]
        yield node
        runs = CronRunLog.objects.filter(job_id=job_id, ts__gte=node.started_at).order_by("ts", "seq")
        for run in runs[: 1 if action == "run" else ENOUGH]:
            node = Node(kind="run", agent_id=run.agent_id, status=run.status, ended_at=run.ts)
            node.started_at = run.ts - (run.duration_ms or 0)
            node.delivery = str(run.entry.get("deliveryStatus") or "")
            # A run in a conversation is one of its turns, and nothing says which: only sessions of runs alone count.
            if db := databases.find_alias(run.agent_id):
                rows = Session.objects.using(db).filter(id=run.session_id or "", origin="cron")
                node._session = next(iter(_read_rows(rows)), None)
            yield node
    elif facts.tool_name == "sessions_send":
        node.kind = "send"
        node.label = str(call.arguments.get("sessionKey") or value.get("sessionKey") or "")[:LIKE]
        text = str(call.arguments.get("message") or "")[:LIKE]
        about = {"created_at__range": (node.started_at - AROUND_MS, node.started_at + AROUND_MS)}
        # OpenClaw may write who sent it above the message.
        about["user_message_content__contains" if len(text) == LIKE else "user_message_content__endswith"] = text
        targets = _find_sessions(session, node.label) if text else []
        turns = ConversationTurn.objects.filter(session__in=[target.id for target in targets], **about)
        turns = _read_rows(turns.using(targets[0]._state.db)) if targets else []
        if turn := min(turns, key=lambda turn: abs(turn.created_at - node.started_at), default=None):
            node._session, node._turn = turn.session, turn
        yield node
    elif facts.tool_name in answers.BY_REFERENCE or (action in answers.SENDING and not call.arguments.get("dryRun")):
        node.label = str(call.arguments.get("channel") or session.channel_id)[:LABEL]
        node.delivery = answers.read_outcome(facts, origins.find_conversation(session))
        yield node


def _find_sessions(session, key):
    """Find the sessions of a key, in the file of a session and in that of the agent that the key names."""
    name = key.split(":")[1] if key.count(":") > 1 else ""
    for db in (session._state.db, databases.find_alias(name) if AGENT_ID.fullmatch(name) else None):
        if db and (rows := _read_rows(Session.objects.using(db).filter(session_key=key).order_by("created_at"))):
            return rows
    return []


def _read_rows(rows):
    """Read the first rows of any agent's file; none of one that cannot be read."""
    with suppress(DatabaseError):  # the next query fails as well once the time of the page is up
        return list(rows[:ENOUGH])
    return []
