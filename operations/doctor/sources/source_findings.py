"""Findings about files and index entries that were neither read nor skipped for a reason."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents import unread_parts
from agents.models import CollectorSource
from collecting.inventory.words import REASON_WORDS
from gate.recording import foreign_decisions
from openclaw_web import amounts
from openclaw_web.amounts import format_plural
from openclaw_web.pages.formatting import listed
from openclaw_web.pages.glyphs import escape_name

from ..findings import NOTE, Finding
from ..store.losses import IMPORT_AGAIN
from .census import Census
from .home_sources import Source
from .index_keys import IndexKey

NAMED = 20  # files that have a finding of their own
LISTED = 500  # names of each reason in a receipt


def build_file_findings(census: Census) -> Iterator[Finding]:
    """A finding for each file and folder that was neither read nor skipped for a reason."""
    for unread in census.unread[:NAMED]:
        words = {"path": escape_name(unread.path)}
        if unread.is_listed:
            sentence = _("%(path)s was neither read nor skipped for a reason. The next import checks this file.")
            yield Finding("unread_file", sentence % words, unread.path, repair=IMPORT_AGAIN, agent=unread.agent)
            continue
        if unread.reason:
            sentence = _("%(path)s was skipped (%(reason)s) and begins as a transcript. Copy it under another name.")
            words |= {"reason": format_reason(unread.reason)}
            yield Finding("skipped_transcript", sentence % words, unread.path, agent=unread.agent)
            continue
        sentence = ngettext(
            "%(path)s is a transcript in a folder that is never read. Move it into the folder “sessions” of its agent.",
            "%(path)s and %(more)s more in its folder are transcripts that are never read. Move them into the folder"
            " “sessions” of their agent.",
            unread.count,
        )
        more = words | {"more": f"{unread.count - 1:,}"}
        yield Finding("unread_folder", sentence % more, unread.path, agent=unread.agent)
    if rest := census.unread[NAMED:]:
        agents = {unread.agent for unread in rest if unread.is_listed}
        sentence = format_plural(
            "%(count)s more file was neither read nor skipped for a reason.",
            "%(count)s more files were neither read nor skipped for a reason.",
            len(rest),
        )
        is_listed = all(unread.is_listed for unread in rest)
        options = {"repair": IMPORT_AGAIN, "agent": min(agents)} if is_listed and len(agents) == 1 else {}
        yield Finding("unread_file", sentence, **options)
    for path in census.unlisted[:NAMED]:
        sentence = _("%(path)s could not be listed to its end: files in it may be missing from this check.")
        yield Finding("unlisted", sentence % {"path": escape_name(path)}, path)


def build_key_findings(agent_id: str, keys: Iterable[IndexKey]) -> Iterator[Finding]:
    """A finding for each index entry without records and without a reason."""
    keys = list(keys)
    for key in keys[:NAMED]:
        words = {"key": escape_name(key.key), "agent": agent_id, "session": escape_name(key.session_id or "?")}
        sentence = _(
            "The index entry %(key)s of agent %(agent)s names session %(session)s, of which no record was found."
        )
        yield Finding("index_entry", sentence % words, key.key, agent=agent_id)
    if rest := keys[NAMED:]:
        sentence = format_plural(
            "%(count)s more index entry of agent %(agent)s names a session without records.",
            "%(count)s more index entries of agent %(agent)s name sessions without records.",
            len(rest),
            agent=agent_id,
        )
        yield Finding("index_entry", sentence, agent=agent_id)


def describe_census(census: Census) -> str:
    """How many files of agents exist, were read, and were skipped by reason."""
    words = {"found": amounts.format_amount("files", census.file_count), "read": f"{census.read:,}"}
    words |= {"skipped": f"{census.skipped_count:,}", "new": f"{census.new:,}"}
    sentence = _("Of %(found)s of agents %(read)s were read and %(skipped)s skipped") % words
    reasons = listed(f"{format_reason(reason)}: {len(names):,}" for reason, names in sorted(census.skipped.items()))
    sentence += f" ({reasons})" if reasons else ""
    sentence += _("; new: %(new)s") % words if census.new else ""
    unread = sum(unread.count for unread in census.unread)
    sentence += _("; not accounted for: %(count)s") % {"count": f"{unread:,}"} if census.unread else ""
    return f"{sentence}."


def format_reason(reason: str) -> str:
    """The name of a reason."""
    return str(REASON_WORDS.get(reason, reason))


def census_to_json(census: Census) -> dict[str, Any]:
    """The census for programs, with the first names of each reason."""
    skipped = {
        reason: {"count": len(names), "names": sorted(names)[:LISTED]} for reason, names in census.skipped.items()
    }
    return {
        "found": census.file_count,
        "read": census.read,
        "new": census.new,
        "skipped": dict(sorted(skipped.items())),
        "unread": [unread.path for unread in census.unread[:LISTED]],
        "unread_count": len(census.unread),
    }


def build_schema_findings(root: Path, sources: Iterable[Source]) -> Iterator[Finding]:
    """Findings and notes about unread tables and newer schemas of a home's databases.

    For a database that was not opened, they come from its last import.
    """
    noted = unread_parts.find_parts(root)
    for source in sources:
        parts = source.unread or noted.get(source.name)
        if source.kind != CollectorSource.Kind.DATABASE or parts is None:
            continue
        place = {"path": source.name, "agent": source.agent}
        if parts["is_newer"]:
            yield Finding("newer_schema", unread_parts.describe_newer(source.name, parts), **place)
        if sentence := unread_parts.describe_unread(source.name, parts):
            yield Finding("unread_tables", sentence, level=NOTE, **place)


def build_foreign_decision_notes(root: Path) -> Iterator[Finding]:
    """Notes about decisions in the plugin's logs that belong to no agent of this folder."""
    for sentence in foreign_decisions.describe_all(root):
        yield Finding("foreign_decisions", sentence, level=NOTE)
