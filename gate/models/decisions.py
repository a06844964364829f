"""Decisions, the windows they were made on, and the ids they were reported under."""

from django.db import models
from django.db.models import Q
from django.urls import reverse

from ledger.models import PlacedQuerySet
from openclaw_web.sqlite.fields import Count, EpochMs, Flag, Number, PersonText, PlainText, SpeechBytes, SpeechText

SLOW_MS = 5_000  # from here on a decision is slow: an index holds these


class MemoryGateDecision(models.Model):
    """One decision (Reflection spec REQ-002).

    It names its turn without a foreign key, since turns are removed and imported again.
    """

    class Decision(models.TextChoices):
        NO_WRITE = "NO_WRITE", "NO_WRITE"
        UPDATE_MEMORY = "UPDATE_MEMORY", "UPDATE_MEMORY"
        UPDATE_USER = "UPDATE_USER", "UPDATE_USER"
        UPDATE_SOUL = "UPDATE_SOUL", "UPDATE_SOUL"
        UPDATE_IDENTITY = "UPDATE_IDENTITY", "UPDATE_IDENTITY"
        UPDATE_TOOLS = "UPDATE_TOOLS", "UPDATE_TOOLS"

    class Origin(models.TextChoices):
        RECORDED = "recorded"
        IMPORTED = "imported"
        OWN = "own"

    class Match(models.TextChoices):
        """How its turn was found."""

        GIVEN = "given"  # the report of the decision named the turn
        EXACT = "exact"  # the reply it was made on is the turn's
        NEAR = "near"  # by session key and time alone
        NONE = "none"

    class Source(models.IntegerChoices):
        """The sources that reported a decision, as bits.

        An event that two sources reported has both bits.
        """

        API = 1
        LOG = 2
        DATABASE = 4
        OWN = 8

    class Verdict(models.TextChoices):
        RIGHT = "right"
        WRONG = "wrong"

    id = PlainText(primary_key=True, shown="api file")
    turn_id = PlainText(null=True, shown="api file", reported=True)
    session_id = PersonText(shown="api file", help_text="the key of the session as it was told if no session was found")
    decision = PlainText(choices=Decision.choices, shown="api file")
    reason = SpeechText(shown="api file")
    candidate_fact = SpeechText(null=True, shown="api file", reported=True)
    llm_model = PlainText(null=True, shown="api file", reported=True)
    llm_latency_ms = Count(null=True, shown="api file", reported=True)
    prompt_tokens = Count(null=True, shown="api file", reported=True)
    completion_tokens = Count(null=True, shown="api file", reported=True)
    raw_response = SpeechText(
        null=True, shown="api", reported=True, help_text="or the handle of an artifact that holds it"
    )
    created_at = EpochMs(shown="api file")
    # Our own columns.
    origin = PlainText(choices=Origin.choices, default=Origin.RECORDED, shown="api file")
    match = PlainText(
        choices=Match.choices,
        default=Match.GIVEN,
        shown="api file",
        help_text="how the turn was found: named, by its reply, by time alone, or not",
    )
    sources = Count(default=0, shown="api", help_text="the bits of Source")
    session_key = PersonText(null=True, shown="api", reported=True)
    window_hash = PlainText(null=True, help_text="of gate_windows; null: what the gate saw is not known", shown="")
    is_window_derived = Flag(default=False, help_text="made of the turns before it, not told", shown="")
    saw_user = Flag(
        null=True, shown="api file", reported=True, help_text="whether the gate saw the user's message; null: unknown"
    )
    named_turn_id = PlainText(null=True, help_text="the turn that its source named, until that one is stored", shown="")
    prompt_version = PlainText(null=True, shown="api file", reported=True)
    cost_usd = Number(null=True, shown="api file", reported=True, help_text="null: not known")
    verdict = PlainText(
        choices=Verdict.choices,
        null=True,
        help_text="what people said of it, copied from its samples; null: nothing",
        shown="",
    )

    objects = PlacedQuerySet.as_manager()

    class Meta:
        db_table = "memory_gate_decisions"
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    decision__in=[
                        "NO_WRITE",
                        "UPDATE_MEMORY",
                        "UPDATE_USER",
                        "UPDATE_SOUL",
                        "UPDATE_IDENTITY",
                        "UPDATE_TOOLS",
                    ]
                ),
                name="gate_decision",
            ),
            models.CheckConstraint(
                condition=~Q(origin="recorded")
                | Q(decision="NO_WRITE")
                | Q(candidate_fact__isnull=False, candidate_fact__gt=""),
                name="gate_fact",
            ),
        ]
        # Lists go by time and place, as those of turns do: the spec's indexes with the time behind them.
        indexes = [
            models.Index(fields=["session_id", "created_at"], name="idx_session_time"),
            models.Index(fields=["decision", "created_at"], name="idx_decision"),
            models.Index(fields=["turn_id", "created_at"], name="idx_turn"),
            models.Index(fields=["created_at"], name="idx_gate_created"),
            models.Index(fields=["llm_model", "created_at"], name="idx_gate_model"),
            models.Index(fields=["prompt_version", "created_at"], name="idx_gate_prompt"),
            models.Index(fields=["created_at"], name="idx_gate_slow", condition=Q(llm_latency_ms__gte=SLOW_MS)),
            models.Index(fields=["created_at"], name="idx_gate_unseen", condition=Q(saw_user=False)),
            models.Index(fields=["created_at"], name="idx_gate_named", condition=Q(named_turn_id__isnull=False)),
            # Of few decisions: those that people judged.
            models.Index(fields=["verdict", "created_at"], name="idx_gate_verdict", condition=Q(verdict__isnull=False)),
            models.Index(fields=["created_at"], name="idx_gate_judged", condition=Q(verdict__isnull=False)),
            # And of the others, which a list counts: without this index each row is read whole.
            models.Index(fields=["created_at"], name="idx_gate_unjudged", condition=Q(verdict__isnull=True)),
        ]

    def __str__(self):
        return f"{self.id} {self.decision}"

    def get_absolute_url(self):
        return reverse("gate:decision_detail", args=[self._state.db.removeprefix("agent_"), self.id])


class GateWindow(models.Model):
    """The input of a gate: the messages of its window and the turn itself.

    Equal windows are one row.
    """

    hash = PlainText(primary_key=True, help_text="sha256 of the JSON")
    body_zstd = SpeechBytes(help_text="the JSON of gate.recording.windows.Window, packed")
    message_count = Count()
    created_at = EpochMs()

    class Meta:
        db_table = "gate_windows"

    def __str__(self):
        return self.hash[:12]


class GateReceipt(models.Model):
    """An id under which a decision was reported, with the hash of the report.

    By it a repeated report is known.
    """

    id = PlainText(primary_key=True)
    decision_id = PlainText()
    body_sha256 = PlainText()

    class Meta:
        db_table = "gate_receipts"

    def __str__(self):
        return self.id
