"""Drafts: what people typed on the page of a sample and have not sent yet.

They are in the store and not in the browser, so that nobody who uses the same browser can read them, and they are
there on another machine (docs/decisions/0016-drafts-are-in-the-store.md). Each opening of a page writes a row of its
own: two tabs never write over each other.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements, write_queue

from ..forms import normalise_text
from ..models import DatasetSample, SampleDraft, SampleLabel
from . import parts

MOST_PAGES = 20  # of one person and sample that differ: nobody has that many tabs
SHOWN = 20  # samples that the menu of drafts names
MINE = """SELECT d.sample_id, s.agent_id, s.turn_number, MAX(d.saved_at) AS latest FROM sample_drafts d
JOIN dataset_samples s ON s.id = d.sample_id WHERE d.username = %s
GROUP BY d.sample_id, s.agent_id, s.turn_number ORDER BY latest DESC LIMIT %s"""


@dataclass(frozen=True, slots=True)
class Draft:
    """What was typed: the form's fields by name, and the opening of the page they were typed on."""

    fields: dict[str, str]
    page: str
    saved_at: int

    @property
    def name(self) -> str:
        """What a page that begins with this draft says it began with."""
        return f"{self.page}@{self.saved_at}"


@dataclass(frozen=True, slots=True)
class DraftedSample:
    """A sample on which somebody has a draft."""

    sample_id: str
    agent_id: str
    turn_number: int | None
    saved_at: int


def build_page_name() -> str:
    """The name of one opening of a page."""
    return secrets.token_urlsafe(9)


def find_drafts(sample_id: str, *, by: str) -> list[Draft]:
    """This person's drafts on a sample, the latest first: mostly none or one."""
    rows = SampleDraft.objects.filter(username=by, sample_id=sample_id).order_by("-saved_at", "-id")
    return [Draft(row.fields, row.page, row.saved_at) for row in rows]


def find_own_drafts(by: str) -> list[DraftedSample]:
    """The samples on which this person has drafts, the latest first; one more than SHOWN when there are more."""
    return [DraftedSample(*row) for row in statements.read_rows(DEFAULT_DB_ALIAS, MINE, [by, SHOWN + 1])]


def save(
    sample: DatasetSample, typed: Mapping[str, str], initial: Mapping[str, str], *, by: str, page: str, base: str = ""
) -> Draft | None:
    """Keep what was typed on this page in the place of what it began with (`base`); None when nothing is left to keep.

    `initial` is what the form says before anybody types. Raises Refused when too many pages differ.
    """
    fields = {name: text for name, text in typed.items() if text != normalise_text(initial.get(name) or "")}
    with write_queue.global_transaction():
        own = SampleDraft.objects.filter(username=by, sample_id=sample.id)
        begun_with, _at, saved_at = base.rpartition("@")
        if saved_at.isdecimal():  # only as it was then: another tab may have gone on with it
            own.filter(page=begun_with, saved_at=int(saved_at)).exclude(page=page).delete()
        if not fields:
            own.filter(page=page).delete()
            return None
        if own.exclude(page=page).count() >= MOST_PAGES:
            raise Refused(_("You have drafts of this sample in too many other tabs. Discard some of them first."))
        return _keep(sample.id, by, page, fields)


def end_drafts(sample_id: str, *, by: str, pages: Collection[str]) -> None:
    """Inside the caller's transaction: what was typed on these pages is in a verdict by now."""
    if pages:
        SampleDraft.objects.filter(username=by, sample_id=sample_id, page__in=pages).delete()


def discard(sample_id: str, *, by: str) -> None:
    """Forget what this person typed on a sample, on every page."""
    SampleDraft.objects.filter(username=by, sample_id=sample_id).delete()


def restore_draft(label: SampleLabel, *, by: str) -> None:
    """Inside the caller's transaction: what was typed for a verdict that is taken back is a draft again."""
    before = label.before
    typed = {"output": label.output} if label.output is not None and label.output != before.get("output") else {}
    if label.notes:
        typed["notes"] = label.notes
    typed |= parts.find_typed_fields(label, before)
    if typed and label.bulk_id is None:
        _keep(label.sample_id, by, build_page_name(), typed)


def _keep(sample_id, by, page, fields):
    draft = Draft(fields, page, clock.now_ms())
    SampleDraft.objects.update_or_create(
        username=by,
        sample_id=sample_id,
        page=page,
        defaults={"fields": fields, "saved_at": draft.saved_at},
    )
    return draft
