"""`reflection guardian list`, `show`, `diff` and `history`: finds and prints writes."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import services as agents
from openclaw_web.clock import format_utc
from openclaw_web.commands.groups import Outcome, WrongUse, check_limit
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import exact_facts

from ..detail import api_detail, history
from ..detail.api import GuardianEventOut, GuardianWriteDetail
from ..detail.schemas import GuardianWriteOut
from ..files import MEMORY_FILES
from ..models import WriteGuardianAudit
from ..words import write_reason
from . import filters, split_visible_lines

WIDTH = 152
DIFF_LINES = 12  # of each write, with --with-diff
UNKNOWN = "–"


class ListVerb:
    """The verb `list`: the newest writes that fit."""

    HELP = gettext_lazy("List writes to memory files, newest first.")
    EXAMPLES = ("reflection guardian list", "reflection guardian list -f USER.md -s written --with-diff")

    def add_arguments(self, parser):
        parser.add_argument("key", nargs="?", metavar="SESSION", help=_("only this session: its ID or key"))
        parser.add_argument("-l", "--limit", type=int, default=10, metavar="N", help=_("how many, 1 to 1000 (10)"))
        parser.add_argument("-d", "--with-diff", action="store_true", help=_("with what each changed"))
        filters.add_filters(parser)

    def run(self, agent, key, limit, with_diff, **options):
        check_limit(limit)
        rows = filters.build_listing(agents.get(agent), options, key).first(limit)
        diffs = _read_diffs(rows) if with_diff else {}
        receipt = [
            GuardianWriteOut.model_validate(row).model_dump() | ({"diff": diffs.get(row.id)} if with_diff else {})
            for row in rows
        ]
        lines = [line for row in rows for line in (*_write_lines(row), *_diff_lines(diffs.get(row.id)))]
        return Outcome({"writes": receipt}, "\n".join(lines) or _("No writes."))


class ShowVerb:
    """The verb `show`: one write with all that is known of it."""

    HELP = gettext_lazy("Show one write with its diff, its statuses and what it came from.")
    EXAMPLES = ("reflection guardian show 01J0000000000000000000DEMO",)

    def add_arguments(self, parser):
        parser.add_argument("id", metavar="AUDIT", help=_("ID of the write"))

    def run(self, agent, id, **options):
        row = _get_write(agent, id)
        write_fields = GuardianWriteDetail.model_validate(row).model_dump()
        known = {
            _("origin"): row.origin,
            _("session"): row.session_id,
            _("turn"): row.turn_id,
            _("decision"): row.decision_id,
            **exact_facts(row),
            _("rule"): row.rule_id,
            _("retry of"): row.retry_of,
            _("shares its diff with"): ", ".join(row.shared_with),
            _("rolled back by"): row.rolled_back
            and f"{row.rolled_back.rolled_back_by}: {_clip(row.rolled_back.reason)}",
            _("took back"): ", ".join(row.takes_back),
        }
        lines = [
            *_write_lines(row),
            *[f"  {name}: {glyphs.to_one_line(str(value))}" for name, value in known.items() if value],
            *_context_lines(row),
            *_status_lines(row),
            *_correction_lines(row),
            *split_visible_lines(row.diff),
        ]
        return Outcome({"write": write_fields}, "\n".join(lines))


class DiffVerb:
    """The verb `diff`: the change of one write."""

    HELP = gettext_lazy("Print what a write changed, as a unified diff.")
    EXAMPLES = ("reflection guardian diff 01J0000000000000000000DEMO",)

    def add_arguments(self, parser):
        parser.add_argument("id", metavar="AUDIT", help=_("ID of the write"))

    def run(self, agent, id, **options):
        row = _get_write(agent, id)
        if row.diff is None:
            raise Refused(_("What this write changed is not known, or nothing was written."))
        words = "\n".join(split_visible_lines(row.diff)) or _("Nothing changed.")
        facts = {"id": row.id, "lines_added": row.lines_added, "lines_removed": row.lines_removed, "diff": row.diff}
        return Outcome(facts, words)


class HistoryVerb:
    """The verb `history`: the versions and writes of one file."""

    HELP = gettext_lazy("List the versions of a memory file and its writes, newest first.")
    EXAMPLES = ("reflection guardian history MEMORY.md -l 20",)

    def add_arguments(self, parser):
        parser.add_argument("name", nargs="?", choices=MEMORY_FILES, metavar="FILE", help=_("name of the file"))
        parser.add_argument(
            "-f", "--file", choices=MEMORY_FILES, metavar="FILE", help=_("name of the file, as an option")
        )
        parser.add_argument("-l", "--limit", type=int, default=20, metavar="N", help=_("how many, 1 to 1000 (20)"))

    def run(self, agent, name, file, limit, **options):
        check_limit(limit)
        if bool(name) == bool(file):
            raise WrongUse(_("Name one file."))
        events = list(islice(_read_events(agents.get(agent), name or file, limit), limit))
        event_fields = [GuardianEventOut.model_validate(event).model_dump() for event in events]
        lines = [line for event in events for line in _event_lines(event)]
        return Outcome(
            {"file": name or file, "events": event_fields}, "\n".join(lines) or _("Nothing is known of this file.")
        )


def _read_diffs(rows) -> dict[str, str]:
    if not rows:
        return {}
    audits = WriteGuardianAudit.objects.using(rows[0]._state.db).filter(id__in=[row.id for row in rows])
    return dict(audits.values_list("id", "diff"))


def _get_write(agent, audit_id):
    try:
        return api_detail.read_write(agents.get(agent), audit_id)
    except Http404 as exc:
        raise Refused(_("This agent has no write %(id)s.") % {"id": audit_id}) from exc


def _write_lines(row) -> Iterator[str]:
    """Yield a write in two lines: time and status; then the fact, and a reason."""
    change = "" if row.lines_added is None else f"  +{row.lines_added} −{row.lines_removed}"
    name = glyphs.to_one_line(row.id)
    yield f"{format_utc(row.created_at)}  {row.status:<11}  {row.target_file or UNKNOWN:<11}  {name}{change}"
    texts = [row.candidate_fact or "", write_reason(row.reason, row.origin)]
    yield "  " + (" | ".join(_clip(text) for text in texts if text) or UNKNOWN)


def _clip(text):
    text = glyphs.to_one_line(text)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}…"


def _context_lines(row):
    """Yield what is known of an unattributed write, of another workspace's, or of its rule."""
    if row.earliest_at:
        words = {"since": format_utc(row.earliest_at), "until": format_utc(row.created_at)}
        yield "  " + _("changed between %(since)s and %(until)s") % words
        turns = glyphs.to_one_line(", ".join(row.turns_in_window)) or UNKNOWN
        yield "  " + _("turns in this time: %(turns)s") % {"turns": turns}
    if row.is_back_in_file:
        yield "  " + _("rolled back and done again: back in the file")
    if row.change_unknown:
        yield f"  {row.change_unknown}"
    if row.is_elsewhere:
        yield "  " + _("from a workspace that no agent has: its files are not those of this agent")
    if row.rule:
        words = {"name": _clip(row.rule.name), "reason": _clip(row.rule.correction_reason)}
        yield "  " + _("a rule is about this fact: %(name)s: %(reason)s") % words


def _correction_lines(row):
    for entry in row.corrected:
        words = {
            "status": entry["corrected_status"],
            "by": _clip(entry["corrected_by"]),
            "reason": _clip(entry["reason"]),
        }
        words |= {name: _clip(entry[f"corrected_{name}"] or UNKNOWN) for name in ("file", "fact")}
        sentence = _("corrected by %(by)s: %(status)s, %(file)s: %(fact)s | %(reason)s") % words
        yield f"  {format_utc(entry['corrected_at'])}  {sentence}"


def _status_lines(row):
    for step in row.status_history:
        author = glyphs.to_one_line(step.given_by)
        yield f"  {format_utc(step.created_at)}  {step.status}  {author}  {_clip(step.reason)}".rstrip()


def _diff_lines(diff):
    lines = list(split_visible_lines(diff.removesuffix("\n"))) if diff else []
    yield from (f"    {line}" for line in lines[:DIFF_LINES])
    if len(lines) > DIFF_LINES:
        yield "    …"


def _read_events(agent, name, size) -> Iterator[Any]:
    """Yield the events of a file, newest first.

    A version that a write led to is left out: its write is an event.
    """
    after = None
    while True:
        page = history.read_timeline(agent, name, after=after, size=size)
        yield from (event for event in page if event.audit or not event.led_by)
        after = page.next
        if after is None:
            return


def _event_lines(event: Any) -> Iterator[str]:
    if event.audit:
        yield from _write_lines(event.audit)
    else:
        word = _("version")
        yield f"{format_utc(event.at)}  {word:<11}  {event.version.file_name:<11}  {event.version.id}"
