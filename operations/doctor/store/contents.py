"""Checks contents of the artifact store: lost, damaged and unused ones, and how to recover them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent, CollectorSource
from artifacts import handles, services
from artifacts.checks import DAMAGED, GONE, LOOSE, RESIZED, UNNAMED
from artifacts.models import Artifact
from artifacts.store import layout, losses, verification
from artifacts.store.losses import ContentIndex
from openclaw_web import amounts
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sentences import join_sentences
from openclaw_web.sqlite.integrity import NAMED, WrongRows, count_rows

from ...backups import backup_reader
from ...backups.backup_format import get_blob_hash
from ...models import BackupRun
from ..findings import Finding
from . import integrity_checks

LOOKED_INTO = 10  # maximum of backups that are searched, newest first
FILE = re.compile(r"[^#!]*")  # the file in a transcript's name; after it, # or ! begins the place in a database

Uses = dict[str, list[tuple[Agent, Artifact]]]  # by the hash of a content


def check_contents(agents: list[Agent], *, is_complete: bool, is_deep: bool) -> Iterator[Finding]:
    """Findings about lost, damaged and unused contents.

    `is_complete` says that these are all agents; `is_deep` reads every content.
    """
    contents, recovery = ContentIndex(layout.get_root()), ContentRecovery()
    used: set[str] = set()
    unusable: set[str] = set()
    for agent in agents:
        lost, refers = contents.find_losses(agent.db)
        used |= refers
        unusable |= lost.unusable
        for check, wrong in ((GONE, lost.gone), (RESIZED, lost.resized), (UNNAMED, lost.unnamed)):
            if wrong:
                yield _build_finding(check, agent, [agent], wrong, {}, recovery)
    loose = [sha256 for sha256 in contents.paths if sha256 not in used]
    if is_complete and loose:
        yield integrity_checks.build_finding("", LOOSE, count_rows(map(handles.from_sha256, loose)))
    usable = sorted(contents.paths.keys() - unusable) if is_deep else []
    if problems := verification.verify(usable).problems:
        reasons = {handles.parse(problem["id"]): f": {problem['reason']}" for problem in problems}
        yield _build_finding(DAMAGED, None, agents, reasons.keys(), reasons, recovery)


def _find_uses(agents, hashes) -> Uses:
    uses: Uses = {sha256: [] for sha256 in hashes}
    for agent in agents:
        for sha256, rows in losses.find_uses(agent.db, hashes).items():
            uses[sha256] += [(agent, row) for row in rows]
    return uses


def _format_handle(sha256, uses):
    """A handle with the records that refer to it."""
    places = [f"{agent} {row.session_id}/{row.record_id}" for agent, row in uses if row.session_id and row.record_id]
    if not places:
        return handles.from_sha256(sha256)
    return _("%(handle)s (%(records)s)") % {
        "handle": handles.from_sha256(sha256),
        "records": listed([*places[:NAMED], *(["…"] if len(places) > NAMED else [])]),
    }


def _build_finding(check, agent, agents, hashes, reasons, recovery):
    """A finding about contents, with ways to recover them when the check repairs nothing."""
    first = sorted(hashes)[:NAMED]
    uses = _find_uses(agents, first if check.repair else sorted(hashes))
    names = [_format_handle(sha256, uses[sha256]) + reasons.get(sha256, "") for sha256 in first]
    way_back = "" if check.repair else join_sentences(recovery.ways(uses))
    return integrity_checks.build_finding(
        agent.agent_id if agent else "", check, WrongRows(len(hashes), names), way_back
    )


class ContentRecovery:
    """Finds where lost contents can be recovered. It remembers what it has read."""

    def __init__(self):
        self._names: dict[str, list[str]] = {}
        self._lists: dict[str, list[str]] = {}

    def ways(self, uses: Uses) -> list[str]:
        """Sentences about the contents in OpenClaw's home, in backups, and nowhere, with commands."""
        places = {sha256: place for sha256, rows in uses.items() if (place := self._find_source(rows))}
        sentences = list(_describe_sources(places))
        missing = uses.keys() - places.keys()
        runs = BackupRun.objects.filter(status__in=BackupRun.USABLE).order_by("-created_at", "-id")
        for run in runs.defer("manifest_json")[:LOOKED_INTO] if missing else ():
            paths = [path for path in self._read_paths(run.archive_path) if get_blob_hash(path) in missing]
            if paths:
                sentences.append(_describe_backup(run, paths))
                missing -= set(map(get_blob_hash, paths))
        if missing:
            sentence = ngettext(
                "%(count)s is in no source and in no backup searched, and cannot be restored.",
                "%(count)s are in no source and in no backup searched, and cannot be restored.",
                len(missing),
            )
            sentences.append(sentence % {"count": len(missing)})
        return sentences

    def _find_source(self, rows):
        """The (agent, session) of a record that produced the content and whose source still exists."""
        for agent, row in rows:
            is_output = row.kind == services.OUTPUT_KIND and row.session_id and row.record_id
            if is_output and any(row.session_id in name for name in self._find_transcripts(agent)):
                return agent.agent_id, row.session_id
        return None

    def _find_transcripts(self, agent):
        """The names of an agent's transcripts that still exist."""
        if agent.agent_id not in self._names:
            kind = CollectorSource.Kind.TRANSCRIPT
            known = CollectorSource.objects.filter(agent_id=agent.agent_id, kind=kind).values_list("root", "path")
            there = [path for root, path in known if Path(root, FILE.match(path)[0]).is_file()]
            self._names[agent.agent_id] = there
        return self._names[agent.agent_id]

    def _read_paths(self, archive):
        """The paths of all intact contents in a backup; none when it cannot be read."""
        if archive not in self._lists:
            try:
                with backup_reader.open_backup(Path(archive)) as opened:
                    damaged = set(opened.manifest.files.damaged)
                    blobs = [entry.path for entry in opened.read_file_list() if get_blob_hash(entry.path)]
                    self._lists[archive] = [path for path in blobs if get_blob_hash(path) not in damaged]
            except Refused:
                self._lists[archive] = []
        return self._lists[archive]


def _describe_sources(places):
    if not places:
        return
    sentence = ngettext(
        "%(count)s is in the OpenClaw folder: %(commands)s.",
        "%(count)s are in the OpenClaw folder: %(commands)s.",
        len(places),
    )
    sessions = sorted(set(places.values()))
    commands = [
        f"openclaw-web collect --again --agent {agent} --session {session_id}" for agent, session_id in sessions[:NAMED]
    ]
    if len(sessions) > NAMED:
        commands.append(_("and for %(more)s more") % {"more": amounts.format_amount("sessions", len(sessions) - NAMED)})
    yield sentence % {"count": len(places), "commands": "; ".join(commands)}


def _describe_backup(run, paths):
    count = len(set(map(get_blob_hash, paths)))
    sentence = ngettext(
        "%(count)s is in the backup %(id)s: %(command)s",
        "%(count)s are in the backup %(id)s: %(command)s",
        count,
    )
    # Not `backup restore`: that would restore the whole home to that day.
    names = paths[:1] if len(paths) == 1 else ["--wildcards", "'artifacts/*'", "--skip-old-files"]
    command = shlex.join(["tar", "--zstd", "-xf", run.archive_path, "-C", str(settings.HOME_DIR)])
    words = {"count": count, "id": run.id, "command": f"{command} {' '.join(names)}"}
    return sentence % words
