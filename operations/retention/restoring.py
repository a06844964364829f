"""Having sessions back from their archives: with the same ids, turns, sums and order of records."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from agents import audit, databases
from agents import services as agents
from agents.models import Agent
from artifacts import services as artifacts
from ledger import removing, session_rows
from ledger.models import Session
from openclaw_web.errors import Refused
from operations import collect, summaries
from operations.backups import room

from . import files
from .files import SUFFIX, Reader, Summary

KIND = "tool_output"


def archives(names: list[str]) -> list[Path]:
    """The files that are named, and all archives in folders that are. Raises Refused when there are none."""
    found: list[Path] = []
    for name in names:
        path = Path(name).expanduser().absolute()
        found += sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not found:
        raise Refused(_("There are no archives in what was named."))
    return found


def verify(paths: list[Path], progress: Any) -> dict[str, Any]:
    """Read archives in full; the receipt."""
    return _each(paths, progress, lambda path: ("sound", files.verify(path)), _("%(sound)s archives are sound."))


def restore(paths: list[Path], progress: Any, *, by: str) -> dict[str, Any]:
    """Put the sessions of archives back; the receipt. One that is here as it was is left alone.

    A file that is damaged, or a session that is here and differs, is named in `failed` and stops nothing else. Raises
    Refused when the disk is full.
    """
    words = _("%(restored)s sessions are back; %(there)s were there.")
    met: set[str] = set()

    def one(path):
        summary = files.verify(path)
        met.add(summary.agent)
        return _restore(path, summary), summary

    with collect.only_one(progress):
        receipt = _each(paths, progress, one, words)
        for agent in Agent.objects.filter(agent_id__in=met):
            summaries.refresh(agent)
    if receipt["restored"]:
        audit.record(by, "sessions_restored", object_type="session", sessions=receipt["restored"])
    return receipt


def _each(paths, progress, one, words):
    counts: Counter[str] = Counter()
    tables: Counter[str] = Counter()
    failed = []
    for number, path in enumerate(paths):
        progress.update(number, len(paths), path.name)
        try:
            how, summary = one(path)
        except room.NoRoom:
            raise
        except Refused as refused:
            failed.append({"id": str(path), "reason": str(refused.sentence)})
            continue
        counts[how] += 1
        tables.update(summary.tables)
    progress.update(len(paths), len(paths))
    sums = {name: counts[name] for name in ("restored", "there", "sound")}
    return {"message": words % sums, **sums, "rows": dict(sorted(tables.items())), "failed": failed}


def _restore(path, summary: Summary) -> str:
    db = _store(summary.agent)
    if Session.objects.using(db).filter(id=summary.session).exists():
        if session_rows.digest(db, summary.session) == summary.rows_sha256:
            return "there"
        raise Refused(_("This session is here already and has changed since. It was left as it is."))
    nothing = _("This session was not restored.")
    try:
        with room.refusing(path.parent, nothing), files.opened(path) as archive:
            _put_back(db, archive, summary)
    except (DatabaseError, OverflowError) as exc:
        if "full" in str(exc):
            raise
        raise Refused(_("Its rows do not fit here: %(reason)s") % {"reason": exc}) from exc
    return "restored"


def _put_back(db, archive: Reader, summary: Summary):
    lines = archive.lines()
    with artifacts.stashing(db, holds_rows=True) as batch:
        first = _keep_contents(batch, lines)
        batch.group.publish()
        rows = ((told["table"], told["row"]) for told in chain(first, lines))
        with transaction.atomic(using=db, durable=True):
            removing.put_back(db, summary.session, rows, digest=summary.rows_sha256)


def _keep_contents(batch, lines: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stash the contents that come first; the first line that is none."""
    for told in lines:
        if "content" not in told:
            return [told]
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
        if len(batch.group.drafts) >= artifacts.GROUP:
            batch.group.publish()
    return []


def _parts(told, lines):
    yield told["data"]
    for _part in range(told["of"] - 1):
        yield next(lines)["data"]


def _store(agent_id):
    """The alias of an agent; one that is not here is registered. Raises Refused for what is no name of one."""
    if agents.normalise_agent_id(agent_id) != agent_id:
        raise Refused(_("The archive names an agent that cannot be one."))
    if not Agent.objects.filter(agent_id=agent_id).exists():
        agents.register(agent_id)
    try:
        return databases.alias(agent_id)
    except (databases.UnknownAgent, databases.OldAgentFile) as exc:
        raise Refused(str(exc)) from exc
