"""Problems that were found, and when each part of the site was last checked for them."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Flag, OperatorText, PersonText, PlainText
from openclaw_web.sqlite.json_columns import JsonProperty


class Problem(models.Model):
    """One problem: its kind, its subject, its facts, and what people did about it."""

    class State(models.TextChoices):
        OPEN = "open"
        MUTED = "muted"
        CLOSED = "closed"

    id = PlainText(primary_key=True, shown="api file", help_text="made of kind, agent and subject; it never changes")
    kind = PlainText(shown="api file", help_text="its name in the setting PROBLEM_KINDS")
    subject = PersonText(
        default="", shown="api file", help_text="what it is about: a file, a rule; empty: the kind says it"
    )
    agent_id = PlainText(default="", shown="api file", help_text="empty: the problem is about no agent")
    severity = Count(shown="api file", help_text="the worst has the highest number")
    level = Count(
        default=0, help_text="how bad it is within its kind: a muted problem opens again when this rises", shown=""
    )
    is_counted = Flag(default=True, help_text="whether the number beside Today counts it", shown="")
    detail_json = PersonText(default="{}", help_text="facts: numbers, ids and names, never a sentence", shown="")
    detail = JsonProperty("detail_json")
    state = PlainText(choices=State.choices, default=State.OPEN, shown="api file")
    is_found = Flag(default=True, help_text="whether the last check found it", shown="")
    since_at = EpochMs(shown="api file", help_text="when it began, as far as known; else when it was found")
    opened_at = EpochMs(shown="api file", help_text="when it was opened last")
    last_seen_at = EpochMs(shown="api file", help_text="the last check that found it")
    reopened_count = Count(default=0, shown="api file")
    seen_at = EpochMs(null=True, shown="api file", help_text="when a person marked it as seen")
    seen_by = PersonText(default="", shown="api file")
    muted_at = EpochMs(null=True, shown="api file")
    muted_by = PersonText(default="", shown="api file")
    mute_reason = OperatorText(default="", shown="api file")
    closed_at = EpochMs(null=True, shown="api file")
    closed_by = PersonText(default="", shown="api file", help_text="empty: closed by itself")
    settled_level = Count(default=0, help_text="its level when a person muted or closed it", shown="")

    class Meta:
        db_table = "problems"
        indexes = [
            models.Index(fields=["severity", "since_at", "id"], name="idx_problem_severity"),
            models.Index(fields=["state", "severity", "since_at", "id"], name="idx_problem_state"),
            models.Index(fields=["kind", "severity", "since_at", "id"], name="idx_problem_kind"),
            models.Index(fields=["agent_id", "severity", "since_at", "id"], name="idx_problem_agent"),
            models.Index(fields=["since_at", "id"], name="idx_problem_since"),
            models.Index(fields=["closed_at"], name="idx_problem_closed", condition=models.Q(state="closed")),
            models.Index(fields=["id"], name="idx_problem_found", condition=models.Q(is_found=True)),
        ]

    def __str__(self):
        return f"{self.kind} {self.agent_id} {self.subject}"


class ProblemCheck(models.Model):
    """The last check of a place: when it was, and the place's state then.

    A place is an agent, or the whole site, whose name is empty.
    """

    place = PlainText(primary_key=True)
    state = PlainText(default="", help_text="changes when what is checked changes; empty: it is always checked")
    checked_at = EpochMs(help_text="of the site: when a check last got through everything")

    class Meta:
        db_table = "problem_checks"

    def __str__(self):
        return self.place
