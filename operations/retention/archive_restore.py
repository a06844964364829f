"""Having sessions back from their archives: with the same ids, turns, sums and order of records."""

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
from collecting import collect
from ledger import consent
from ledger.models import Session
from ledger.transcripts import origins, removal, session_holdings, session_rows
from ledger.transcripts.trimming import parse_stashed
from openclaw_web import reasons
from openclaw_web.disk import room
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import join_sentences
from openclaw_web.sqlite import failures
from overview import summaries
from people.audit import log as audit

from . import archive_files
from .archive_files import SUFFIX, Reader, Summary

KIND = "tool_output"


def find_archives(names: list[str]) -> list[Path]:
    """The files that are named, and all archives in folders that are. Raises Refused when there are none."""
    found: list[Path] = []
    for name in names:
        path = Path(name).expanduser().absolute()
        found += sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not found:
        raise Refused(_("No archives were found in the given paths."))
    return found


@dataclass(slots=True)
class _Run:
    """Archives one after the other: one that is refused stops no other, a full disk stops all."""

    progress: Any
    total: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    failed: list[dict[str, str]] = field(default_factory=list)

    @contextmanager
    def one(self, path: Path):
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
    """Read archives in full; the receipt."""
    run = _Run(progress, len(paths))
    for path in paths:
        with run.one(path):
            run.count("sound", archive_files.verify_archive(path))
    sound = run.counts["sound"]
    return run.receipt(ngettext("%(sound)s archive is sound.", "%(sound)s archives are sound.", sound))


def restore_archives(paths: list[Path], progress: Any, *, by: str) -> dict[str, Any]:
    """Put the sessions of archives back; the receipt. One that is here as it was is left alone.

    Of several archives of a session the latest state counts. A file that is damaged, or a session that is here and
    differs, is named in `failed` and stops nothing else. Raises Refused when the disk is full.
    """
    run = _Run(progress, 2 * len(paths))
    with collect.exclusive_run(progress):
        found = _latest(run, paths)
        try:
            for path, summary in found:
                with run.one(path):
                    run.count(_restore(path, summary), summary)
        finally:
            for agent in Agent.objects.filter(agent_id__in={summary.agent for _path, summary in found}):
                summaries.refresh(agent)
    receipt = run.receipt(*_words(run.counts))
    if receipt["restored"]:
        audit.record(by, "sessions_restored", object_type="session", sessions=receipt["restored"])
    return receipt


def _words(counts):
    yield ngettext("%(restored)s session restored,", "%(restored)s sessions restored,", counts["restored"])
    yield ngettext("%(there)s already present.", "%(there)s already present.", counts["there"])
    if counts["older"]:
        yield ngettext(
            "%(older)s archive contains an older state and was skipped.",
            "%(older)s archives contain older states and were skipped.",
            counts["older"],
        )


def _latest(run, paths):
    """The archives that are sound, without those that hold an older state of a session than another one does."""
    found: dict[tuple[str, str], tuple[Path, Summary]] = {}
    for path in paths:
        with run.one(path):
            summary = archive_files.verify_archive(path)
            key = summary.agent, summary.session
            if key in found:
                run.counts["there" if found[key][1].rows_sha256 == summary.rows_sha256 else "older"] += 1
            if key not in found or found[key][1].state < summary.state:
                found[key] = path, summary
    return list(found.values())


def _restore(path, summary: Summary) -> str:
    db = _store(summary.agent)
    if Session.objects.using(db).filter(id=summary.session).exists():
        if session_rows.compute_digest(db, summary.session) == summary.rows_sha256:
            return "there"
        raise Refused(_("This session is already stored and has changed since. The stored session was not changed."))
    nothing = _("This session was not restored.")
    try:
        with room.refuse_when_full(path.parent, nothing), archive_files.open_archive(path) as archive:
            _put_back(db, archive, summary)
    except (DatabaseError, OverflowError) as exc:
        if failures.is_full(exc):
            raise
        raise Refused(
            _("The rows of the archive do not fit here: %(reason)s.") % {"reason": reasons.describe_error(exc)}
        ) from exc
    return "restored"


def _put_back(db, archive: Reader, summary: Summary):
    lines, kept = archive.lines(), set[str]()
    with artifacts.open_stash_batch(db, holds_rows=True) as batch:
        first = _keep_contents(batch, lines, kept)
        batch.group.publish()
        rows = (_own(told, kept) for told in chain(first, lines))
        with transaction.atomic(using=db, durable=True):
            removal.restore_session(db, summary.session, rows, digest=summary.rows_sha256)
            session = Session.objects.using(db).get(id=summary.session)
            _check_consent(session)
    holdings.note_holding(summary.agent, summary.session, session_holdings.get_holding(session))


def _own(told, kept):
    """A row with its table. Raises Wrong when it refers to a content that the archive does not hold: to have the handle
    of a content must not be enough to read it."""
    row = told["row"]
    handles = {row["handle"]} if told["table"] == "artifacts" else set[str]()
    if told["table"] == "transcript_events":
        handles.update(note.handle for note in parse_stashed(row.get("trim_json")))
    if not handles <= kept:
        raise archive_files.WrongArchive(_("The archive refers to an output that is not in the archive."))
    return told["table"], row


def _check_consent(session):
    opted_out = consent.read_opted_out()
    if origins.is_direct_with(session, opted_out):
        raise Refused(
            _("This is a conversation with somebody who has since opted out. The conversation was not restored.")
        )
    if opted_out and origins.is_group(session):
        raise Refused(_("Archives of group conversations are not restored while anybody is opted out."))


def _keep_contents(batch, lines: Iterator[dict[str, Any]], kept: set[str]) -> list[dict[str, Any]]:
    """Stash the contents that come first, and note their handles; the first line that is none."""
    for told in lines:
        if "content" not in told:
            return [told]
        kept.add(told["content"])
        one_part = told["of"] == 1
        data = told["data"] if one_part else _parts(told, lines)
        kind, meta, made = told.get("kind"), told.get("meta"), told.get("createdAt")
        batch.group.add(
            data,
            kind=kind if isinstance(kind, str) else KIND,
            meta=meta if isinstance(meta, dict) else {},
            is_compressed=told.get("compression") == "gzip",
            created_at=made if isinstance(made, str) else None,
        )
        if len(batch.group.drafts) >= artifacts.GROUP_SIZE:
            batch.group.publish()
    return []


def _parts(told, lines):
    yield told["data"]
    for _part in range(told["of"] - 1):
        yield next(lines)["data"]


def _store(agent_id):
    """The alias of an agent; one that is not here is registered. Raises Refused for what is no name of one."""
    if agents.normalise_agent_id(agent_id) != agent_id:
        raise Refused(_("The archive contains an invalid agent name."))
    if not Agent.objects.filter(agent_id=agent_id).exists():
        agents.register(agent_id)
    return agents.get_alias(agent_id)
