"""Review queues of several people: their items, the places of reviewers on items, and versions of the guideline."""

from django.db import models
from django.urls import reverse

from openclaw_web.sqlite.fields import Count, EpochMs, Flag, OperatorText, PersonText, PlainText
from openclaw_web.sqlite.json_columns import JsonProperty

from ..fields import OneOf


class ReviewQueue(models.Model):
    """Samples that several people judge, each without knowing the verdicts of the others."""

    class State(models.TextChoices):
        OPEN = "open"
        CLOSED = "closed"

    id = PlainText(primary_key=True, shown="api")
    name = OperatorText(unique=True, shown="api")
    sample_filter = OperatorText(default="", shown="api", help_text="filter of the list of samples, in one line")
    reviewers = Count(shown="api", help_text="how many people judge each item, 1 to 5")
    gold_share = Count(default=0, shown="api", help_text="percent of items whose verdict is known, 0 to 50")
    assigned_json = PlainText(default="[]", shown="", help_text="user names; empty: everybody who may label")
    assigned = JsonProperty("assigned_json", list)
    adjudicators_json = PlainText(default="[]", shown="", help_text="who may decide conflicts, besides admins")
    adjudicators = JsonProperty("adjudicators_json", list)
    guideline = Count(default=1, shown="api", help_text="number of the current version of the guideline")
    state = OneOf(choices=State.choices, default=State.OPEN, shown="api")
    created_by = PersonText(shown="api")
    created_at = EpochMs(shown="api")

    class Meta:
        db_table = "review_queues"
        indexes = [models.Index(fields=["created_at", "id"], name="idx_queue_created")]

    def __str__(self):
        return self.name

    def get_absolute_url(self):
        return reverse("datasets:queue_detail", args=[self.id])

    @property
    def is_open(self):
        return self.state == self.State.OPEN

    def has_reviewer(self, user):
        """Whether this person may judge its items."""
        return user.has_role("labeller") and (not self.assigned or user.username in self.assigned)

    def has_adjudicator(self, user):
        """Whether this person may decide its conflicts."""
        return user.has_role("admin") or (user.has_role("labeller") and user.username in self.adjudicators)


class Guideline(models.Model):
    """A version of a queue's instructions and questions; verdicts name it, and it never changes."""

    id = models.BigAutoField(primary_key=True)
    queue = models.ForeignKey(ReviewQueue, models.CASCADE, related_name="guidelines", db_index=False)
    number = Count()
    text = OperatorText(default="")
    questions_json = OperatorText(default="[]", help_text="JSON list: kind, name, choices")
    questions = JsonProperty("questions_json", list)
    written_by = PersonText()
    written_at = EpochMs()

    class Meta:
        db_table = "guidelines"
        constraints = [models.UniqueConstraint(fields=["queue", "number"], name="idx_guideline_number")]

    def __str__(self):
        return f"{self.queue_id} {self.number}"


class QueueItem(models.Model):
    """A sample in a review queue, with the samples of the same words."""

    class State(models.TextChoices):
        OPEN = "open"
        DONE = "done"
        CONFLICT = "conflict"
        ADJUDICATED = "adjudicated"

    class Reason(models.TextChoices):
        CONFLICT = "conflict"
        SCORE = "score"
        RARE = "rare"
        TWINS = "twins"
        NEW = "new"

    id = models.BigAutoField(primary_key=True)
    queue = models.ForeignKey(ReviewQueue, models.CASCADE, related_name="items", db_index=False)
    sample_id = PlainText(help_text="no reference: verdicts outlive their sample")
    state = OneOf(choices=State.choices, default=State.OPEN)
    value = Count(help_text="what comes first: the higher the earlier")
    reason = OneOf(choices=Reason.choices, help_text="why it comes where it comes")
    sample_created_at = EpochMs()
    twin_group = PlainText(default="", help_text="hash of its words; empty: it has no signature")
    twins_json = PlainText(default="[]", help_text="the other samples of these words, at most 200")
    twins = JsonProperty("twins_json", list)
    gold_label = PlainText(null=True, help_text="id of the verdict that is known to be right; null: none is known")

    class Meta:
        db_table = "queue_items"
        constraints = [models.UniqueConstraint(fields=["queue", "sample_id"], name="idx_item_sample")]
        indexes = [
            models.Index(fields=["queue", "state", "value", "sample_created_at", "id"], name="idx_item_value"),
            models.Index(fields=["queue", "state", "sample_created_at", "id"], name="idx_item_created"),
            models.Index(fields=["sample_id", "state"], name="idx_item_of_sample"),
        ]

    def __str__(self):
        return f"{self.queue_id} {self.sample_id}"


class QueueSeat(models.Model):
    """The place of a reviewer on an item: a claim that expires, or a verdict in force. An item has at most N."""

    id = models.BigAutoField(primary_key=True)
    item = models.ForeignKey(QueueItem, models.CASCADE, related_name="seats", db_index=False)
    reviewer = PersonText()
    since = EpochMs(help_text="changes whenever the page is opened anew")
    expires_at = EpochMs(help_text="of a claim; a verdict does not expire")
    label_id = PlainText(null=True, help_text="the verdict in force; null: a claim")
    with_twins = Flag(default=False, help_text="whether the samples of the same words get this verdict too")

    class Meta:
        db_table = "queue_seats"
        constraints = [models.UniqueConstraint(fields=["item", "reviewer"], name="idx_seat_reviewer")]
        indexes = [models.Index(fields=["reviewer", "label_id"], name="idx_seat_of_reviewer")]

    def __str__(self):
        return f"{self.item_id} {self.reviewer}"
