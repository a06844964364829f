"""Files in the home that rows promise and that nothing makes again: exports, archives of sessions, backups."""

from collections.abc import Iterator
from pathlib import Path

import orjson
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from datasets.exporting import exports
from datasets.models import DatasetExport
from ledger.models import RemovedSession
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed

from ...backups import opening
from ...models import BackupRun
from ...retention import files as archives
from ..findings import NOTE, Finding, first_of


def look(agents: list[Agent], *, is_deep: bool) -> Iterator[Finding]:
    """What rows say is there and is not, or is another size; with `is_deep` also what has another content."""
    yield from _exports(is_deep)
    for agent in agents:
        yield from _archives(agent, is_deep)
    yield from _backups()


def _exports(is_deep):
    for export in DatasetExport.objects.filter(state=DatasetExport.State.READY).order_by("exported_at", "id"):
        folder, wrong = exports.folder_of(export), []
        for file in exports.promised(export):
            path = folder / file.name
            if not path.is_file():
                wrong.append(_("%(file)s is missing") % {"file": file.name})
            elif path.stat().st_size != file.bytes:
                wrong.append(_("%(file)s has a different size") % {"file": file.name})
            elif is_deep and archives.file_sha256(path) != file.sha256:
                wrong.append(_("%(file)s has different content") % {"file": file.name})
        if wrong:
            sentence = _(
                "The export %(name)s differs from its manifest: %(wrong)s. Run the export again to get its files."
            )
            words = {"name": f"{export.export_name} ({export.id})", "wrong": listed(wrong)}
            yield Finding("export_files", sentence % words, export.file_path)


def _archives(agent, is_deep):
    rows = RemovedSession.objects.using(agent.db).filter(why=RemovedSession.Why.ARCHIVE).order_by("session_id")
    wrong = []
    for session_id, name in rows.values_list("session_id", "archive").iterator():
        problem = _of_archive(Path(settings.HOME_DIR, name), is_deep)
        if problem:
            wrong.append(f"{session_id} ({name}: {problem})")
    if wrong:
        sentence = ngettext(
            "%(count)s archived session of agent %(agent)s cannot be restored: %(named)s. Backups contain "
            "archives too.",
            "%(count)s archived sessions of agent %(agent)s cannot be restored: %(named)s. Backups contain "
            "archives too.",
            len(wrong),
        )
        words = {"count": len(wrong), "agent": agent.agent_id, "named": "; ".join(first_of(wrong))}
        yield Finding("archive_files", sentence % words, "archive", agent=agent.agent_id)


def _of_archive(path, is_deep):
    """What is wrong with an archive, in a few words; empty when nothing is. Without `is_deep` its size is compared."""
    if not path.is_file():
        return _("its file is missing")
    if path.stat().st_size != _size_of(path):
        return _("its size differs from its manifest")
    try:
        if is_deep:
            archives.verify(path)
        else:
            with archives.opened(path):
                pass
    except Refused as refused:
        return str(refused.sentence)
    return ""


def _size_of(path):
    """How big an archive was when it was written; as big as it is when no manifest beside it can tell."""
    beside = path.with_name(path.name.removesuffix(archives.SUFFIX) + archives.MANIFEST_SUFFIX)
    try:
        return orjson.loads(beside.read_bytes())["bytes"]
    except (OSError, ValueError, KeyError, TypeError):
        return path.stat().st_size


def _backups():
    """Backups that were checked and are not what they were; reading them whole is `backup verify`'s."""
    checked = BackupRun.objects.filter(status__in=(BackupRun.Status.VERIFIED, BackupRun.Status.INCOMPLETE))
    for run in checked.order_by("-created_at", "-id").defer("manifest_json"):
        path = Path(run.archive_path)
        if not path.is_file():
            sentence = _("The backup %(path)s was removed. openclaw-web backup list records this.")
            yield Finding("backup_gone", sentence % {"path": path}, str(path), level=NOTE)
            continue
        if path.stat().st_size != run.archive_bytes:
            sentence = _("The backup %(path)s is damaged: its size has changed since its creation.")
        else:
            try:
                with opening.opened(path):
                    continue
            except Refused as refused:
                sentence = _("The backup %(path)s is damaged:") + f" {refused.sentence}".replace("%", "%%")
        yield Finding("backup_files", sentence % {"path": path}, str(path))
