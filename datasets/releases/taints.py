"""Finds members of releases that should not be used any more, and who has their files."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from django.db.models import Count, Max
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from guardian.models import WriteGuardianAudit
from jobs import services as jobs
from jobs.kinds import HOUR_MS, Kind, Schedule
from jobs.models import JobRun
from ledger import consent
from ledger.models import ConversationTurn, RemovedSession
from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.sentences import join_sentences
from openclaw_web.sqlite.write_queue import global_transaction
from people.models import AuditEntry

from ..exports.source import is_rolled_back
from ..models import DatasetExport, DatasetSample, DatasetVersion, VersionTaint
from ..sample_texts import CHANGED
from .members import read_members

JOB_KIND = "dataset_taints"
COLUMNS = ("sample_id", "agent_id", "session_id")
SAMPLE_COLUMNS = ("id", "annotation_status", "turn_id", "audit_id", "guardian_label", "turn_traits")
FETCHING = ("downloaded", "fetched")
MOST_NAMES, MOST_FETCHES = 100, 10_000
Reason = VersionTaint.Reason
Found = set[tuple[str, str]]  # sample and reason


def find_taints(version: DatasetVersion, progress: Any = None) -> int:
    """Note the members of a release that should not be used any more; return how many.

    They were removed, opted out, rolled back or rejected, or their turn has other words now. A note is taken back when
    its reason is gone, such as a rejection that was undone.
    """
    count = checked = 0
    for batch in read_members(version, COLUMNS):
        current = find_batch_taints(batch, version.options.get("include", ()))
        _store_taints(version, [member[0] for member in batch], current)
        count += len({sample_id for sample_id, _reason in current})
        checked += len(batch)
        if progress:
            progress.update(progress.done + len(batch))
    return count


def count_taints(version: DatasetVersion) -> dict[str, int]:
    """The number of tainted members of a release, by reason."""
    rows = VersionTaint.objects.filter(version=version).values("reason").annotate(count=Count("id")).order_by("reason")
    return dict(rows.values_list("reason", "count"))


def list_downloads(version: DatasetVersion) -> list[dict[str, Any]]:
    """The people who created or downloaded exports of a release.

    Each has the exports and the last time. Of the newest MOST_NAMES exports, at most MOST_FETCHES pairs.
    """
    rows = DatasetExport.objects.filter(version_id=version.id).order_by("-exported_at", "-id")
    exports = rows.values_list("id", "export_name", "exported_by", "exported_at")[:MOST_NAMES]
    names = {export_id: name for export_id, name, _by, _at in exports}
    entries = AuditEntry.objects.filter(object_type="export", object_id__in=list(names), action__in=FETCHING)
    fetched = entries.values_list("actor", "object_id").annotate(last=Max("at")).order_by("object_id", "actor")
    made = [(by or "", export_id, at) for export_id, _name, by, at in reversed(exports)]
    people: dict[str, dict[str, Any]] = {}
    for actor, export_id, at in [*made, *fetched[:MOST_FETCHES]]:
        person = people.setdefault(actor, {"name": actor, "exports": [], "last_at": 0})
        person["last_at"] = max(person["last_at"], at)
        if names[export_id] not in person["exports"]:
            person["exports"].append(names[export_id])
    return sorted(people.values(), key=lambda person: person["name"])


def start_check(version: DatasetVersion, *, by: str) -> JobRun:
    """Queue the check of a release, or return the job under way."""
    return jobs.start(JOB_KIND, {"version_id": version.id}, by=by)


def find_batch_taints(members: Collection[tuple[str, str, str]], included: Collection[str] = ()) -> Found:
    """The samples of these members that should not be used any more, with the reasons.

    A member is a sample with its agent and session. `included`: kinds of turns that the release has on purpose.
    """
    rows = DatasetSample.objects.filter(id__in=[member[0] for member in members])
    samples = {row[0]: row for row in rows.values_list(*SAMPLE_COLUMNS)}
    current: Found = {(member[0], Reason.REMOVED.value) for member in members if member[0] not in samples}
    rejected = DatasetSample.Status.REJECTED
    current |= {(sample_id, Reason.REJECTED.value) for sample_id, row in samples.items() if row[1] == rejected}
    if CHANGED not in included:
        current |= {(sample_id, CHANGED) for sample_id, row in samples.items() if CHANGED in row[5].split()}
    by_agent = defaultdict(list)
    for sample_id, agent_id, session_id in members:
        if sample_id in samples:
            by_agent[agent_id].append((samples[sample_id], session_id))
    for agent_id, agent_rows in by_agent.items():
        if db := databases.find_alias(agent_id):
            current |= _find_agent_taints(db, agent_rows)
    return current


def _find_agent_taints(db, rows) -> Found:
    removed = set(
        RemovedSession.objects.using(db)
        .filter(session_id__in={session_id for _row, session_id in rows})
        .values_list("session_id", flat=True)
    )
    turn_ids = {row[2] for row, _session_id in rows if row[2]}
    audits = WriteGuardianAudit.objects.using(db).taken_back()
    audit_ids = {row[3] for row, _session_id in rows if row[3]}
    rolled_back = set(audits.filter(id__in=audit_ids).values_list("id", flat=True))
    rolled_back_turns = set(audits.filter(turn_id__in=turn_ids).values_list("turn_id", flat=True))
    withheld = set[str]()
    if consent.read_opted_out():
        withheld = consent.find_withheld(db, ConversationTurn.objects.using(db).in_bulk(turn_ids).values())
    current: Found = set()
    for (sample_id, _status, turn_id, audit_id, label, _traits), session_id in rows:
        reasons = {
            Reason.REMOVED.value: session_id in removed,
            Reason.OPTED_OUT.value: turn_id in withheld,
            Reason.ROLLED_BACK.value: is_rolled_back(audit_id, label, turn_id, rolled_back, rolled_back_turns),
        }
        current |= {(sample_id, reason) for reason, applies in reasons.items() if applies}
    return current


def _store_taints(version, sample_ids, current):
    rows = VersionTaint.objects.filter(version=version, sample_id__in=sample_ids)
    known = {(sample_id, reason): pk for sample_id, reason, pk in rows.values_list("sample_id", "reason", "id")}
    if known.keys() == current:
        return
    now = clock.now_ms()
    with global_transaction():
        VersionTaint.objects.filter(id__in=[known[pair] for pair in known.keys() - current]).delete()
        new = [
            VersionTaint(version=version, sample_id=sample_id, reason=reason, noted_at=now)
            for sample_id, reason in sorted(current - known.keys())
        ]
        VersionTaint.objects.bulk_create(new, ignore_conflicts=True)


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Check the release `params["version_id"]`, or every release; return the counts as values of JSON."""
    versions = DatasetVersion.objects.filter(state=DatasetVersion.State.RELEASED).order_by("-released_at", "-id")
    if version_id := params.get("version_id"):
        versions = versions.filter(id=version_id)
    total = sum(versions.values_list("member_count", flat=True))
    progress.update(0, total)
    tainted = sum(find_taints(version, progress) for version in versions)
    return {"message": _describe_result(total, tainted), "checked": total, "tainted": tainted}


def _describe_result(checked, tainted):
    members = format_plural("%(count)s member checked", "%(count)s members checked", checked)
    if not tainted:
        return _("%(members)s: all can be used.") % {"members": members}
    return join_sentences([f"{members}.", describe_tainted(tainted)])


def describe_tainted(count: int) -> str:
    """How many members of a release should not be used any more, as a sentence."""
    return format_plural("%(count)s should not be used any more.", "%(count)s should not be used any more.", count)


def has_releases() -> bool:
    """Whether there is a release to check."""
    return DatasetVersion.objects.filter(state=DatasetVersion.State.RELEASED).exists()


JOB = Kind(
    run=run,
    label=gettext_lazy("Check of releases"),
    audit_text=gettext_lazy("started a check of releases"),
    cancel_text=gettext_lazy("Members already checked remain noted; the next check begins again."),
    schedule=Schedule("schedule.releaseCheckHours", HOUR_MS, dict, has_releases),
)
