"""Which turns had a line in their context: proven, probable by the time, or not, with the reason.

Proven: a result of a tool of the turn has the line, or a report about the prompt says that it held the whole file while
a version with the line stood. Probable: OpenClaw puts the file into prompts of such a session, the line stood in it at
the turn, before the place where a prompt cuts the file. Reports name files and numbers of characters, not words.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agents.models import Agent
from ledger import consent
from ledger.models import ConversationTurn, PromptReport, Session
from openclaw_web.sqlite.json_columns import decode
from search import find, query, words

from ..files import MEMORY_FILES
from ..models import ProvenanceRecord
from ..standing.file_standing import LIMIT, LIMITS
from ..standing.files import count_chars, get_spellings, list_prompt_files, read_report_files
from ..versions import get_model

MOST_VERSIONS, MOST_TURNS, MOST_HITS, CHUNK = 1_000, 20_000, 200, 500
SESSION_COLUMNS = ("id", "title", "origin", "session_key", "metadata", "prompt_report")
READERS = frozenset({"read", "memory_get", "memory_search", "view", "read_file"})
SIGNS = "-*+ \t\r\n"  # around a line, which facts of logs do not have
LONGEST_PHRASE = 30  # parts of a line that are searched for
TOOL, REPORT, TIME = "tool", "report", "time"  # how it is known
LEFT_OUT, CUT, OTHER_SESSION, OTHER_TIME = "left_out", "cut", "other_session", "other_time"


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a version of the file stood: `end` is the end of the line in it, None where it is not in it."""

    since: int
    chars: int
    end: int | None


class Turn(NamedTuple):
    """The columns of a turn that matter here."""

    id: str
    session_id: str
    turn_number: int
    created_at: int


@dataclass(slots=True)
class Context:
    """A turn that had the line in its context; `way` says how that is known."""

    turn: Turn
    way: str
    tool: str = ""


@dataclass(slots=True)
class Reach:
    """How far a line got: who was told, and how many turns were not, by reason.

    `spans` are the times in which the line stood, as pairs; the end is None while it stands. `sessions` are those of
    the turns, by id.
    """

    contexts: list[Context] = field(default_factory=list)
    not_told: Counter[str] = field(default_factory=Counter)
    spans: list[tuple[int, int | None]] = field(default_factory=list)
    sessions: dict[str, Session] = field(default_factory=dict)
    is_cut: bool = False  # there are more versions or turns than were looked at

    def list_ways(self, *ways: str) -> list[Context]:
        return [each for each in self.contexts if each.way in ways]


def find_reach(
    agent: Agent, file_name: str, lines: Sequence[str], among: Collection[tuple[str, int]] | None = None
) -> Reach:
    """Return who was told any of these lines of a file; `among` names the only turns to look at: session and number."""
    lines = [line.strip() for line in lines if line.strip()]
    spans = _read_spans(agent, file_name, lines)
    reach = Reach(spans=_join_spans(spans), is_cut=len(spans) == MOST_VERSIONS)
    if not reach.spans or (among is not None and not among):
        return reach
    turns = ConversationTurn.objects.using(agent.db).filter(is_active=True, repeat_of=None)  # a fork repeats turns
    turns = turns.filter(created_at__gte=reach.spans[0][0])
    sessions = Session.objects.using(agent.db)
    if among is not None:
        ids = {session_id for session_id, _number in among}
        turns, sessions = turns.filter(session_id__in=ids), sessions.filter(id__in=ids)
    tools, reports = _find_tool_results(agent, lines), _find_reports(agent, file_name, spans, sessions)
    columns = turns.order_by("created_at", "id").values_list(*Turn._fields)
    rows = [Turn(*row) for row in columns[: MOST_TURNS + 1] if among is None or row[1:3] in among]
    reach.is_cut, rows = reach.is_cut or len(rows) > MOST_TURNS, rows[:MOST_TURNS]
    names = sorted({turn.session_id for turn in rows})
    for start in range(0, len(names), CHUNK):
        reach.sessions |= sessions.only(*SESSION_COLUMNS).in_bulk(names[start : start + CHUNK])
    untrusted, kinds = _read_untrusted(agent, file_name), _Kinds(agent, file_name, reach.sessions)
    starts = [span.since for span in spans]
    for turn in rows:
        if (turn.session_id, turn.turn_number) in tools:
            reach.contexts.append(Context(turn, TOOL, tools[turn.session_id, turn.turn_number]))
        elif turn.id in reports:
            reach.contexts.append(Context(turn, REPORT))
        elif reason := _exclude(turn, spans, starts, untrusted, kinds, file_name):
            reach.not_told[reason] += 1
        else:
            reach.contexts.append(Context(turn, TIME))
    hidden = consent.find_withheld_keys(agent.db, [each.turn.id for each in reach.contexts])
    reach.contexts = [each for each in reach.contexts if each.turn.id not in hidden]
    return reach


def _exclude(turn, spans, starts, untrusted, kinds, file_name):
    """The reason why a turn was not told; empty where it probably was."""
    place = bisect_right(starts, turn.created_at) - 1
    span = spans[place] if place >= 0 else None
    if span is None or span.end is None:
        return OTHER_TIME
    if any(since <= turn.created_at < until for since, until in untrusted):
        return LEFT_OUT
    if not kinds.has_file(turn.session_id):
        return OTHER_SESSION
    return CUT if span.end > LIMITS.get(file_name, LIMIT) else ""


def _read_spans(agent, file_name, lines):
    """The versions of a file in order, each with the place where one of the lines ends in it."""
    versions, wanted_lines = (
        get_model(file_name).objects.using(agent.db).filter(file_name=file_name),
        {line.strip(SIGNS) for line in lines},
    )
    newest = versions.order_by("-created_at", "-id").values_list("created_at", "content")[:MOST_VERSIONS]
    spans = []
    for at, content in newest.iterator():
        end, place = None, 0
        for line in content.splitlines(keepends=True):
            place += len(line.encode("utf-16-le", "surrogatepass")) // 2
            if line.strip(SIGNS) in wanted_lines:
                end = place
                break
        spans.append(Span(at, count_chars(content.encode(errors="replace")), end))
    return spans[::-1]


def _join_spans(spans):
    times: list[tuple[int, int | None]] = []
    for number, span in enumerate(spans):
        until = spans[number + 1].since if number + 1 < len(spans) else None
        if span.end is None:
            continue
        if times and times[-1][1] == span.since:
            times[-1] = (times[-1][0], until)
        else:
            times.append((span.since, until))
    return times


def _find_tool_results(agent, lines):
    """The tool whose result has one of the lines, by session and number of the turn."""
    tools: dict[tuple[str, int], str] = {}
    for line in lines[:5]:
        parts = tuple(words.split(words.fold(line)))
        first = tuple(part[:LONGEST_PHRASE] for part in parts[:LONGEST_PHRASE])
        while sum(len(words.list_entries(part)) for part in first) > query.MOST_ENTRIES:
            first = first[:-1]
        if not first:
            continue
        line_query = query.Query(line, [query.Term(first)], filters={"agent": agent.agent_id, "kind": "result"})
        whole = query.Term(parts)
        for hit in find.search(line_query, size=MOST_HITS).hits:
            tool = next(iter(hit.item.facts["tool"] & READERS), "")
            if tool and whole.find(words.fold(hit.item.fields["result"])):
                tools[hit.item.facts["session_id"], hit.item.facts["turn_number"]] = tool
    return tools


def _find_reports(agent, file_name, spans, sessions):
    """The turns whose prompt a report describes, and which held the whole file with the line: ids."""
    sessions = sessions.filter(prompt_report__isnull=False, last_activity_at__gte=spans[0].since)
    starts, ids, reports = [span.since for span in spans], set(), {}
    for session in sessions.only("id", "metadata", "prompt_report_id")[:MOST_TURNS]:
        prompt = decode(session.metadata).get("prompt") if session.metadata else None
        at = prompt.get("at") if isinstance(prompt, dict) else None
        place = bisect_right(starts, at) - 1 if isinstance(at, int) else -1
        if place < 0 or spans[place].end is None:
            continue
        if session.prompt_report_id not in reports:
            row = PromptReport.objects.using(agent.db).get(id=session.prompt_report_id)
            reports[session.prompt_report_id] = read_report_files(row.report)
        files = reports[session.prompt_report_id]
        entry = next((files[name] for name in get_spellings(file_name) if name in files), None)
        if entry is None or entry.is_missing or entry.is_cut:
            continue
        if entry.raw_chars == entry.injected_chars == spans[place].chars:
            turns = ConversationTurn.objects.using(agent.db).filter(session_id=session.id, created_at__lte=at)
            ids |= set(turns.order_by("-created_at", "-turn_number").values_list("id", flat=True)[:1])
    return ids


def _read_untrusted(agent, file_name):
    """The times in which OpenClaw did not trust the file, and so left it out of prompts."""
    rows = ProvenanceRecord.objects.using(agent.db).filter(file_name__in=get_spellings(file_name))
    records = list(
        rows.order_by("first_seen_at", "id").values_list("first_seen_at", "observed_at", "origin_class", "state")
    )
    times = []
    for number, (seen_at, observed_at, origin_class, state) in enumerate(records):
        until = records[number + 1][1] or records[number + 1][0] if number + 1 < len(records) else 2**62
        if origin_class == "untrusted" and state == ProvenanceRecord.State.KNOWN:
            times.append((observed_at or seen_at, until))
    return times


class _Kinds:
    """Whether prompts of a session hold a file, looked up once for each session."""

    def __init__(self, agent, file_name, sessions):
        self._agent, self._names, self._sessions = agent, get_spellings(file_name), sessions
        self._usual = MEMORY_FILES if file_name in MEMORY_FILES else ()
        self._known: dict[str, bool] = {}

    def has_file(self, session_id):
        if session_id not in self._known:
            names = list_prompt_files(self._agent, self._sessions[session_id], self._usual)
            self._known[session_id] = not set(self._names).isdisjoint(names)
        return self._known[session_id]
