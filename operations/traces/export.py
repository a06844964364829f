"""Writes the traces of chosen sessions into a folder, and the receipt of what is in it and what stays out."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from agents.models import Agent
from datasets.exports.files import is_installed, slug
from datasets.exports.options import FLAGGED, check_choices
from datasets.exports.redactions import build_redactor
from datasets.markers import OPEN_FINDINGS
from findings import scan, transcript_scan
from findings.detection import read_detection
from jobs.progress import Progress
from ledger.lists.session_list import SEGMENTS, SESSIONS, SessionFilters
from ledger.models import RemovedSession, Session
from openclaw_web.detectors.spans import RULES
from openclaw_web.disk import room
from openclaw_web.errors import Refused
from openclaw_web.lists.filter_line import parse_line
from openclaw_web.lists.paging import read_batches
from openclaw_web.lists.segments import ALL

from .atif import write_trajectory
from .canonical import SessionTrace
from .html_file import write_page
from .hub_file import write_lines
from .scout import TooLarge, write_table

RECEIPT = "receipt.json"
LISTED = 200  # sessions that are named for each reason
LISTED_FILES = 1_000
BATCH = 100  # sessions that are read at once
BUFFER = 256 * 1024
WITHHELD = ("opted_out", "withheld", "copies", "sub_agents", "outputs_lost", "removed_sessions")
UNSCANNED, EMPTY, TOO_LARGE = "unscanned", "empty", "too_large"
REASONS = {
    OPEN_FINDINGS: gettext_lazy("With keys or passwords that nobody has judged"),
    UNSCANNED: gettext_lazy("Not scanned yet for personal data and secrets"),
    EMPTY: gettext_lazy("Without messages that may be exported"),
    TOO_LARGE: gettext_lazy("With more than 64 MB of messages"),
}


@dataclass(frozen=True, slots=True)
class Format:
    """A format of traces: its name for people, the function that writes a session in parts, the ending of files."""

    label: Any
    write: Callable[[SessionTrace], Iterator[bytes]]
    ending: str


FORMATS = {
    "atif": Format("ATIF (Harbor)", write_trajectory, "json"),
    "scout": Format("Inspect Scout (Parquet)", write_table, "parquet"),
    "hf-sessions": Format(gettext_lazy("Session traces of the Hugging Face Hub"), write_lines, "jsonl"),
    "html": Format("HTML", write_page, "html"),
}


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """The sessions of an export of traces, and its format.

    One session of an agent by its id, or those of an agent, or of all, that fit a filter of the list of sessions.
    """

    format: str
    agent: str = ""
    session: str = ""
    filter: str = ""
    segment: str = ""
    include_flagged: bool = False  # sessions with keys and passwords that nobody judged, redacted: for admins
    include_pii: bool = False  # personal data as it is: for admins

    def check(self, *, is_admin: bool) -> None:
        """Raise Refused for a request that cannot be carried out, or not by this person."""
        if self.format not in FORMATS:
            raise Refused(_("There is no such format of traces."))
        if self.format == "scout" and not is_installed():
            raise Refused(_("Parquet needs pyarrow: install openclaw-web with the extra parquet."))
        check_choices(include=(FLAGGED,) * self.include_flagged, include_pii=self.include_pii, is_admin=is_admin)
        if self.session and not Session.objects.using(agents.get(self.agent).db).filter(id=self.session).exists():
            raise Refused(_("This agent has no such session."))
        self.read_criteria()

    def read_criteria(self) -> Mapping[str, Any]:
        """The criteria of the list of sessions: those of its filters, and its segment."""
        if self.segment and self.segment not in SEGMENTS.parts:
            raise Refused(_("The list of sessions has no such segment."))
        return parse_line(SessionFilters, self.filter, segment=self.segment or ALL).criteria

    @property
    def is_for_admins(self) -> bool:
        """Whether only admins may read the files."""
        return self.include_flagged or self.include_pii


def list_agents(request: TraceRequest) -> list[Agent]:
    """The agents whose sessions are exported. Raises NoAgent."""
    if request.agent:
        return [agents.get(request.agent)]
    return [agents.get(name) for name in Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)]


def list_sessions(request: TraceRequest, agent: Agent) -> Any:
    """The sessions of an agent that fit, as a queryset."""
    if request.session:
        return Session.objects.using(agent.db).filter(id=request.session)
    return SESSIONS.fits(agent, **request.read_criteria()).all


def write_traces(request: TraceRequest, folder: Path, progress: Progress) -> dict[str, Any]:
    """Write the files of a request into an empty folder, and return their receipt, which is also a file there.

    Raises Refused when the disk is full.
    """
    with room.refuse_when_full(folder.parent, _("Nothing was exported.")):
        chosen = list_agents(request)
        total = sum(list_sessions(request, agent).count() for agent in chosen)
        writer = _Writer(request, folder, [agent.agent_id for agent in chosen])
        for agent in chosen:
            scan.scan_agent(agent.db, progress)  # what is new, so that people can judge it
            unscanned = set(transcript_scan.iterate_unscanned(agent.db, read_detection().version))
            for batch in read_batches(list_sessions(request, agent), order=("id",), size=BATCH):
                for session in batch:
                    progress.update(writer.counts["seen"], total, _("Writing sessions"))
                    writer.add(agent, session, is_unscanned=session.id in unscanned)
            if not request.session:
                writer.withheld["removed_sessions"] += RemovedSession.objects.using(agent.db).count()
        receipt = writer.build_receipt()
        (folder / RECEIPT).write_bytes(orjson.dumps(receipt, option=orjson.OPT_INDENT_2) + b"\n")
        return receipt


class _Writer:
    """Writes one session after the other, and counts."""

    def __init__(self, request, folder, agent_ids):
        self.request, self.folder, self.format = request, folder, FORMATS[request.format]
        self.redactor = build_redactor(agent_ids, include_pii=request.include_pii)
        self.counts: Counter[str] = Counter()
        self.withheld: Counter[str] = Counter(dict.fromkeys(WITHHELD, 0))
        self.redacted: Counter[str] = Counter()
        self.files: list[dict[str, Any]] = []
        self.left_out: dict[str, dict[str, Any]] = {}

    def add(self, agent, session, *, is_unscanned):
        """Write the file of a session, unless it has to stay out."""
        trace = SessionTrace(agent, session, self.redactor)
        facts = {"agent": agent.agent_id, "session": session.id}
        name = f"{agent.agent_id}_{slug(session.id)}.{self.format.ending}"
        self.counts["seen"] += 1
        reason = UNSCANNED if is_unscanned else self._write_file(trace, self.folder / name)
        traces = list(_iterate_traces(trace)) if self.request.format == "atif" else [trace]
        for each in traces:
            self.withheld.update(each.counts)
        if reason:
            group = self.left_out.setdefault(reason, {"count": 0, "sessions": []})
            group["count"] += 1
            group["sessions"] += [facts] if len(group["sessions"]) < LISTED else []
            return
        messages = sum(each.messages for each in traces)
        self.counts.update(sessions=1, sub_agents=len(traces) - 1, messages=messages, flagged=trace.numbers.has_open)
        self.redacted.update(trace.numbers.places)
        if len(self.files) < LISTED_FILES:
            self.files.append({"name": name, "messages": trace.messages, **facts})

    def _write_file(self, trace, path):
        """Write a file, or return why there is none."""
        if trace.is_empty:
            list(trace.read_messages())  # counts what was withheld
            return EMPTY
        reason = ""
        with path.open("xb", buffering=BUFFER) as file:
            try:
                for part in self.format.write(trace):
                    file.write(part)
                    if trace.numbers.has_open and not self.request.include_flagged:
                        reason = OPEN_FINDINGS
                        break
            except TooLarge:
                reason = TOO_LARGE
        if reason:
            path.unlink()
        return reason

    def build_receipt(self):
        """The receipt: what was written, and what stays out."""
        return {
            "request": asdict(self.request),
            **{name: self.counts[name] for name in ("sessions", "messages", "sub_agents")},
            "files": self.files,
            "more_files": max(0, self.counts["sessions"] - len(self.files)),
            "left_out": self.left_out,
            "withheld": dict(self.withheld),
            "redaction": {"rules": RULES, "places": dict(self.redacted), "flagged_sessions": self.counts["flagged"]},
        }


def _iterate_traces(trace):
    yield trace
    for child, _record_id in trace.children:
        yield from _iterate_traces(child)
