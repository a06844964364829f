"""Problems that were found, and when each part of the site was last checked for them."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Flag, OperatorText, PersonText, PlainText
from openclaw_web.sqlite.json_columns import JsonProperty


class State(models.TextChoices):
    """State of a problem or of a group of errors, by what people did about it."""

    OPEN = "open"
    MUTED = "muted"
    CLOSED = "closed"


NOT_MUTED = {"muted_at": None, "muted_by": "", "muted_until": None, "mute_reason": ""}


class Actable(models.Model):
    """A problem or a group of errors, which people see, mute and close.

    Each table has the columns itself, at their place in its rows.
    """

    State = State

    class Meta:
        abstract = True

    def reopen(self, now: int) -> None:
        """Open it again: what people did before it came back does not hold any more."""
        self.state, self.opened_at, self.reopened_count = State.OPEN, now, self.reopened_count + 1
        self.seen_at = self.closed_at = None
        self.seen_by = self.closed_by = ""
        for name, value in NOT_MUTED.items():
            setattr(self, name, value)


class Problem(Actable):
    """One problem: its kind, its subject, its facts, and what people did about it."""

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
    muted_until = EpochMs(null=True, shown="api file", help_text="when it opens by itself; null: no day was named")
    notified_severity = Count(default=0, help_text="its severity when it was sent; 0: not since it opened", shown="")

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


class ErrorGroup(Actable):
    """Failed calls of one tool or model with one normalised message, with their numbers in all agents."""

    kind, agent_id = "error", ""  # as the audit log says it

    id = PlainText(primary_key=True, shown="api file", help_text="a hash of the next three; it never changes")
    tool = PlainText(default="", shown="api file", help_text="the tool that failed; empty: a model did")
    model = PlainText(default="", shown="api file", help_text="the model that failed; empty: a tool did")
    message = PlainText(shown="api file", help_text="normalised: words of errors, and marks for everything else")
    is_new = Flag(default=False, help_text="it was first seen by an import that was not the agent's first", shown="")
    state = PlainText(choices=State.choices, default=State.OPEN, shown="api file")
    opened_at = EpochMs(shown="api file", help_text="when it was opened last")
    reopened_count = Count(default=0, shown="api file")
    seen_at = EpochMs(null=True, shown="api file", help_text="when a person marked it as seen")
    seen_by = PersonText(default="", shown="api file")
    muted_at = EpochMs(null=True, shown="api file")
    muted_by = PersonText(default="", shown="api file")
    muted_until = EpochMs(null=True, shown="api file", help_text="when it opens by itself; null: no day was named")
    mute_reason = OperatorText(default="", shown="api file")
    closed_at = EpochMs(null=True, shown="api file")
    closed_by = PersonText(default="", shown="api file", help_text="empty: closed by itself")
    count = Count(default=0, shown="api file", help_text="failed calls")
    session_count = Count(default=0, shown="api file", help_text="sessions with such a call")
    agent_count = Count(default=0, shown="api file", help_text="agents with such a call")
    first_at = EpochMs(default=0, shown="api file")
    last_at = EpochMs(default=0, shown="api file")

    class Meta:
        db_table = "error_groups"
        indexes = [
            models.Index(fields=["last_at", "id"], name="idx_error_last"),
            models.Index(fields=["count", "id"], name="idx_error_count"),
        ]

    def __str__(self):
        return f"{self.tool or self.model}: {self.message}"


class ErrorSum(models.Model):
    """How often the errors of a group occurred in one agent."""

    pk = models.CompositePrimaryKey("agent_id", "group_id")
    agent_id = PlainText()
    group = models.ForeignKey(ErrorGroup, models.CASCADE, db_index=False, related_name="sums")
    count = Count()
    session_count = Count()
    first_at = EpochMs()
    last_at = EpochMs()

    class Meta:
        db_table = "error_sums"
        indexes = [
            models.Index(fields=["group", "agent_id"], name="idx_error_sum_group"),
            models.Index(fields=["agent_id", "last_at", "group"], name="idx_error_sum_last"),
            models.Index(fields=["agent_id", "count", "group"], name="idx_error_sum_count"),
        ]

    def __str__(self):
        return f"{self.agent_id} {self.group_id}"


class ErrorDay(models.Model):
    """How often the errors of a group occurred in one agent on one recent UTC day."""

    pk = models.CompositePrimaryKey("agent_id", "group_id", "date")
    agent_id = PlainText()
    group_id = PlainText()
    date = PlainText(help_text="YYYY-MM-DD")
    count = Count()

    class Meta:
        db_table = "error_days"
        indexes = [
            models.Index(fields=["group_id", "date"], name="idx_error_day_group"),
            models.Index(fields=["date"], name="idx_error_day"),
        ]

    def __str__(self):
        return f"{self.agent_id} {self.group_id} {self.date}"
