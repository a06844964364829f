"""Every requested write to a memory file, and the history of its status."""

from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from ledger.models import PlacedQuerySet
from openclaw_web.sqlite.fields import Count, EpochMs, Flag, Key, PersonText, PlainText, SpeechText
from openclaw_web.sqlite.json_columns import JsonProperty

from ..files import MEMORY_FILES
from .shared_columns import SharedBytes, SharedPlain, SharedText


class FileVersion(models.Model):
    """One state in which a file was seen.

    A file that returns to an earlier state gets a new row: history is a list.
    """

    id = PlainText(
        primary_key=True, shown="api", help_text="<file>@<content hash>@<modified ms>: importing twice is once"
    )
    content = SharedText(shown="")
    content_hash = PlainText(shown="api", help_text="sha256 of its bytes")
    created_at = EpochMs(shown="api", help_text="modification time of the file")
    # Ours.
    size_bytes = Count(shown="api")
    is_lossy = Flag(default=False, shown="api", help_text="some bytes are not UTF-8 and were replaced in the content")
    raw = SharedBytes(null=True, help_text="the bytes of a lossy content; null: the content has them all", shown="")

    class Meta:
        abstract = True


class FileSnapshot(FileVersion):
    """A version of one of the five memory files (Reflection spec REQ-003 `file_snapshots`)."""

    file_name = PlainText(shown="api")

    class Meta:
        db_table = "file_snapshots"
        constraints = [models.CheckConstraint(condition=models.Q(file_name__in=MEMORY_FILES), name="memory_file")]
        indexes = [
            models.Index(fields=["file_name", "created_at"], name="idx_file_time"),
            models.Index(fields=["content_hash"], name="idx_hash"),
        ]

    def __str__(self):
        return self.id


class WorkspaceFile(FileVersion):
    """A version of another workspace file: AGENTS.md, HEARTBEAT.md, memory/*.md."""

    file_name = PlainText(help_text="relative to the workspace", shown="")

    class Meta:
        db_table = "workspace_files"
        indexes = [models.Index(fields=["file_name", "created_at"], name="idx_workspace_file_time")]

    def __str__(self):
        return self.id


MOST_RETURNS = 5  # of one write, by rollbacks of its rollbacks


class AuditQuerySet(PlacedQuerySet):
    def taken_back(self):
        """Writes whose lines are out of the file: rolled back, and not brought back by a rollback of that rollback."""
        again, is_in_force = "rollback__own_audit__rollback__own_audit", Q()
        for rounds in range(1, MOST_RETURNS + 1):
            is_in_force |= Q(**{"__".join([again] * rounds) + "__status": "written"})
        return self.filter(status="rolled_back").exclude(is_in_force | Q(origin="rollback"))


class WriteGuardianAudit(models.Model):
    """One write, with the spec's columns (Reflection REQ-003 `write_guardian_audit`).

    Turns and decisions are named without foreign keys: they may be removed and imported again, but a write stays.
    """

    class Status(models.TextChoices):
        WRITTEN = "written"
        REFUSED = "refused"
        FAILED = "failed"
        SKIPPED = "skipped"
        ROLLED_BACK = "rolled_back"

    class Origin(models.TextChoices):
        RECORDED = "recorded"  # reported by a running plugin
        IMPORTED = "imported"  # from its log or database
        UNATTRIBUTED = "unattributed"  # the file changed without a report
        OWN = "own"  # our own guardian
        ROLLBACK = "rollback"  # a rollback is a write as well
        AGENT = "agent"  # by its own tools: OpenClaw's record of the file names the session

    class Source(models.IntegerChoices):
        """The sources that reported a write: bits, since several may report it."""

        API = 1
        LOG = 2
        DATABASE = 4
        FILES = 8  # two versions of the file
        OWN = 16
        ELSEWHERE = 32  # of a workspace without an agent: the agent that shows it has other files

    id = PlainText(primary_key=True, shown="api file")
    decision_id = PlainText(null=True, shown="api file", reported=True)
    turn_id = PlainText(null=True, shown="api file", reported=True)
    session_id = PersonText(
        null=True, shown="api file", reported=True, help_text="the session key where no session was found"
    )
    target_file = PlainText(null=True, shown="api file")
    candidate_fact = SpeechText(null=True, shown="api file", reported=True)
    before_snapshot = Key(FileSnapshot, models.PROTECT, null=True, related_name="+", db_index=False, shown="api")
    after_snapshot = Key(FileSnapshot, models.PROTECT, null=True, related_name="+", db_index=False, shown="api")
    diff = SharedText(null=True, help_text="unified; null where the versions are not known", shown="")
    lines_added = Count(null=True, shown="api file", help_text="null: what the file held is not known")
    lines_removed = Count(null=True, shown="api file")
    lines_modified = Count(null=True, shown="api file", help_text="of each change the smaller of added and removed")
    status = PlainText(choices=Status.choices, shown="api file")
    reason = SpeechText(null=True, shown="api file", reported=True)
    llm_model = PlainText(null=True, label=_("Model"), shown="api file", reported=True)
    llm_latency_ms = Count(null=True, label=_("Latency"), shown="api file", reported=True)
    agent_steps = Count(null=True, label=_("Steps"), shown="api file", reported=True)
    created_at = EpochMs(shown="api file")
    # Ours.
    origin = PlainText(choices=Origin.choices, default=Origin.RECORDED, shown="api file")
    match = PlainText(default="none", shown="api file", help_text="how its turn was found: given, exact, near, none")
    sources = Count(default=0, shown="api", help_text="the bits of Source")
    session_key = PersonText(null=True, shown="api", reported=True)
    hunks_json = SharedPlain(null=True, help_text="where lines went, as they were when it was written", shown="")
    hunks = JsonProperty("hunks_json", list)
    is_diff_shared = Flag(default=False, shown="api file", help_text="writes between two known versions share one diff")
    earliest_at = EpochMs(null=True, shown="api file", help_text="unattributed: the file was last seen without it then")
    retry_of = PlainText(null=True, shown="api file", help_text="id of the write that was asked for again")
    rule_id = PlainText(null=True, shown="api file", help_text="id of the rule that applies to this write")

    objects = AuditQuerySet.as_manager()

    class Meta:
        db_table = "write_guardian_audit"
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["written", "refused", "failed", "skipped", "rolled_back"]),
                name="guardian_status",
            ),
            models.CheckConstraint(
                condition=~Q(origin="recorded")
                | Q(session_id__isnull=False, target_file__isnull=False, candidate_fact__isnull=False),
                name="guardian_recorded",
            ),
        ]
        # Index names are unique in a database file: other tables have those of the spec.
        indexes = [
            models.Index(fields=["session_id", "created_at"], name="idx_audit_session_time"),
            models.Index(fields=["status", "created_at"], name="idx_audit_status"),
            models.Index(fields=["target_file", "created_at"], name="idx_audit_file"),
            models.Index(fields=["created_at"], name="idx_audit_created"),
            models.Index(fields=["turn_id", "created_at"], name="idx_audit_turn"),
            models.Index(fields=["decision_id", "created_at"], name="idx_audit_decision"),
            models.Index(fields=["origin", "created_at"], name="idx_audit_origin"),
            models.Index(fields=["rule_id", "created_at"], name="idx_audit_rule", condition=Q(rule_id__isnull=False)),
            models.Index(fields=["created_at"], name="idx_audit_flagged", condition=Q(rule_id__isnull=False)),
            models.Index(fields=["retry_of"], name="idx_audit_retry", condition=Q(retry_of__isnull=False)),
            models.Index(fields=["before_snapshot"], name="idx_audit_before"),
            models.Index(fields=["after_snapshot"], name="idx_audit_after"),
        ]

    def __str__(self):
        return f"{self.id} {self.status}"

    def get_absolute_url(self):
        return reverse("guardian:audit_detail", args=[self._state.db.removeprefix("agent_"), self.id])


class GuardianReceipt(models.Model):
    """A reported id of a write and the hash of its body.

    A second report with the same id and body is the same write.
    """

    id = PlainText(primary_key=True)
    audit_id = PlainText()
    body_sha256 = PlainText()

    class Meta:
        db_table = "guardian_receipts"
        # Only of the few whose write has another id by now.
        indexes = [
            models.Index(fields=["audit_id"], name="idx_receipt_audit", condition=~Q(id=F("audit_id"))),
        ]

    def __str__(self):
        return self.id


class GuardianStatus(models.Model):
    """A status of a write from a moment on: who gave it and why."""

    audit = models.ForeignKey(WriteGuardianAudit, models.CASCADE, related_name="statuses", db_index=False)
    status = PlainText(choices=WriteGuardianAudit.Status.choices, shown="api")
    given_by = PersonText(shown="api")
    reason = SpeechText(default="", shown="api")
    created_at = EpochMs(shown="api")

    class Meta:
        db_table = "guardian_statuses"
        indexes = [models.Index(fields=["audit", "created_at"], name="idx_guardian_statuses")]

    def __str__(self):
        return f"{self.audit_id} {self.status}"


class Consolidation(models.Model):
    """A moment at which the plugin's log reports its consolidation of memory files."""

    at = EpochMs(primary_key=True)

    class Meta:
        db_table = "guardian_consolidations"

    def __str__(self):
        return str(self.at)


class ProvenanceRecord(models.Model):
    """OpenClaw's record of a file from `first_seen_at` on, until the file's next row."""

    class State(models.TextChoices):
        KNOWN = "known"
        UNKNOWN = "unknown"  # of a version, class or shape that no known version of OpenClaw writes
        GONE = "gone"  # OpenClaw has no record of the file any more

    id = PlainText(primary_key=True, help_text="sha256 of the row")
    state = PlainText(choices=State.choices)
    workspace_key = PlainText(help_text="sha256 of the real path of the workspace where OpenClaw runs")
    file_name = PlainText(help_text="relative to the workspace")
    file_hash = PlainText(default="", help_text="sha256 of the bytes that were written")
    origin_class = PlainText(default="", help_text="agent, untrusted, or another word of OpenClaw")
    observed_at = EpochMs(null=True, help_text="when OpenClaw saw the write")
    session_id = PlainText(default="")
    session_key = PersonText(default="")
    version = Count(null=True)
    first_seen_at = EpochMs(help_text="when an import read it first")

    class Meta:
        db_table = "provenance_records"
        indexes = [models.Index(fields=["file_name", "first_seen_at", "id"], name="idx_provenance_file")]

    def __str__(self):
        return f"{self.file_name} {self.state} {self.origin_class}"
