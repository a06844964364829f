"""Restores sessions from archives with the same ids, turns, sums and order of records."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents import holdings
from agents import services as agents
from agents.models import Agent
from artifacts import services as artifacts
from collecting import collect, read_again
from ledger import consent, rules
from ledger.models import Session
from ledger.transcripts import origins, removal, session_holdings, session_rows
from ledger.transcripts.trimming import parse_stashed
from openclaw_web import reasons
from openclaw_web.disk import room
from openclaw_web.errors import Refused
from openclaw_web.sentences import join_sentences
from openclaw_web.sqlite import failures
from overview import summaries
from people.audit import log as audit

from . import archive_files
from .archive_files import SUFFIX, Reader, Summary

KIND = "tool_output"


def find_archives(names: list[str]) -> list[Path]:
    """Find the named archives, and all in named folders. Raises Refused without any."""
    paths: list[Path] = []
    for name in names:
        path = Path(name).expanduser().absolute()
        paths += sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not paths:
        raise Refused(_("No archives were found in the given paths."))
    return paths


@dataclass(slots=True)
class _Run:
    """A run over several archives: a refused handle_archive stops no other, a full disk stops all."""

    progress: Any
    total: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    failed: list[dict[str, str]] = field(default_factory=list)

    @contextmanager
    def handle_archive(self, path: Path):
        self.progress.update(self.done, self.total, archive_files.format_path(path))
        self.done += 1
        try:
            yield
        except room.NoRoom:
            raise
        except Refused as refused:
            self.failed.append({"id": archive_files.format_path(path), "reason": str(refused.sentence)})

    def count(self, how: str, summary: Summary):
        self.counts[how] += 1
        self.tables.update(summary.tables)

    def receipt(self, *sentences: str) -> dict[str, Any]:
        self.progress.update(self.total, self.total)
        sums = {name: self.counts[name] for name in ("restored", "there", "older", "sound")}
        return {
            "message": join_sentences(sentences) % sums,
            **sums,
            "rows": dict(sorted(self.tables.items())),
            "failed": self.failed,
        }


def verify_archives(paths: list[Path], progress: Any) -> dict[str, Any]:
    """Verify archives completely; returns the receipt."""
    run = _Run(progress, len(paths))
    for path in paths:
        with run.handle_archive(path):
            run.count("sound", archive_files.verify_archive(path))
    sound = run.counts["sound"]
    return run.receipt(ngettext("%(sound)s archive is sound.", "%(sound)s archives are sound.", sound))


def restore_archives(paths: list[Path], progress: Any, *, by: str) -> dict[str, Any]:
    """Restore the sessions of archives; returns the receipt. Unchanged stored sessions are not touched.

    Sessions whose turns were made by other rules are then read again.
    Of several archives of a session the latest state counts. A damaged file, or a stored session that differs, is named
    in `failed`; the others are restored. Raises Refused when the disk is full.
    """
    run = _Run(progress, 2 * len(paths))
    with collect.exclusive_run(progress):
        archives_to_restore = _find_latest(run, paths)
        try:
            for path, summary in archives_to_restore:
                with run.handle_archive(path):
                    run.count(_restore_session(path, summary), summary)
        finally:
            for agent in Agent.objects.filter(agent_id__in={summary.agent for _path, summary in archives_to_restore}):
                summaries.refresh(agent)
    receipt = run.receipt(*_build_sentences(run.counts))
    if receipt["restored"]:
        audit.record(by, "sessions_restored", object_type="session", sessions=receipt["restored"])
        if any(summary.rules < rules.VERSION for _path, summary in archives_to_restore):
            receipt["message"] = join_sentences([receipt["message"], read_again.run({}, progress)["message"]])
    return receipt


def _build_sentences(counts):
    yield ngettext("%(restored)s session restored,", "%(restored)s sessions restored,", counts["restored"])
    yield ngettext("%(there)s already present.", "%(there)s already present.", counts["there"])
    if counts["older"]:
        yield ngettext(
            "%(older)s archive contains an older state and was skipped.",
            "%(older)s archives contain older states and were skipped.",
            counts["older"],
        )


def _find_latest(run, paths):
    """The intact archives, without those with an older state of the same session."""
    latest: dict[tuple[str, str], tuple[Path, Summary]] = {}
    for path in paths:
        with run.handle_archive(path):
            summary = archive_files.verify_archive(path)
            key = summary.agent, summary.session
            if key in latest:
                run.counts["there" if latest[key][1].rows_sha256 == summary.rows_sha256 else "older"] += 1
            if key not in latest or latest[key][1].state < summary.state:
                latest[key] = path, summary
    return list(latest.values())


def _restore_session(path, summary: Summary) -> str:
    # The alias of an agent, which is registered if it is new.
    agent_id = summary.agent
    if agents.normalise_agent_id(agent_id) != agent_id:
        raise Refused(_("The archive contains an invalid agent name."))
    if not Agent.objects.filter(agent_id=agent_id).exists():
        agents.register(agent_id)
    db = agents.get_alias(agent_id)
    if session := Session.objects.using(db).filter(id=summary.session).first():
        if summary.rules < rules.VERSION and summary.state == (session.last_activity_at, session.record_count):
            return "there"  # and read again since, by newer rules
        if session_rows.compute_digest(db, summary.session) == summary.rows_sha256:
            return "there"
        raise Refused(_("This session is already stored and has changed since. The stored session was not changed."))
    advice = _("This session was not restored.")
    try:
        with room.refuse_when_full(path.parent, advice), archive_files.open_archive(path) as archive:
            _restore_rows(db, archive, summary)
    except (DatabaseError, OverflowError) as exc:
        if failures.is_full(exc):
            raise
        raise Refused(
            _("The rows of the archive do not fit here: %(reason)s.") % {"reason": reasons.describe_error(exc)}
        ) from exc
    return "restored"


def _restore_rows(db, archive: Reader, summary: Summary):
    lines, handles = archive.lines(), set[str]()
    with artifacts.open_stash_batch(db, holds_rows=True) as batch:
        first = _stash_contents(batch, lines, handles)
        batch.group.publish()
        rows = (_check_row(entry, handles) for entry in chain(first, lines))
        with transaction.atomic(using=db, durable=True):
            removal.restore_session(db, summary.session, rows, digest=summary.rows_sha256)
            session = Session.objects.using(db).get(id=summary.session)
            _check_consent(session)
    holdings.note_holding(summary.agent, summary.session, session_holdings.get_holding(session))


def _check_row(entry, stored_handles):
    """A row with its table. Raises WrongArchive when it refers to a missing content.

    The handle of a content alone must not be enough to read it.
    """
    row = entry["row"]
    row_handles = {row["handle"]} if entry["table"] == "artifacts" else set[str]()
    if entry["table"] == "transcript_events":
        row_handles.update(note.handle for note in parse_stashed(row.get("trim_json")))
    if not row_handles <= stored_handles:
        raise archive_files.WrongArchive(_("The archive refers to an output that is not in the archive."))
    return entry["table"], row


def _check_consent(session):
    opted_out = consent.read_opted_out()
    if origins.is_direct_with(session, opted_out):
        raise Refused(
            _("This is a conversation with somebody who has since opted out. The conversation was not restored.")
        )
    if opted_out and origins.is_group(session):
        raise Refused(_("Archives of group conversations are not restored while anybody is opted out."))


def _stash_contents(batch, lines: Iterator[dict[str, Any]], handles: set[str]) -> list[dict[str, Any]]:
    """Stash the contents at the beginning and note their handles; returns the line after them."""
    for entry in lines:
        if "content" not in entry:
            return [entry]
        handles.add(entry["content"])
        one_part = entry["of"] == 1
        data = entry["data"] if one_part else _read_parts(entry, lines)
        kind, meta, created_at = entry.get("kind"), entry.get("meta"), entry.get("createdAt")
        batch.group.add(
            data,
            kind=kind if isinstance(kind, str) else KIND,
            meta=meta if isinstance(meta, dict) else {},
            is_compressed=entry.get("compression") == "gzip",
            created_at=created_at if isinstance(created_at, str) else None,
        )
        if len(batch.group.drafts) >= artifacts.GROUP_SIZE:
            batch.group.publish()
    return []


def _read_parts(entry, lines):
    yield entry["data"]
    for _part in range(entry["of"] - 1):
        yield next(lines)["data"]
