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

MOST_PAGES = 20  # with different drafts of one person and sample: nobody has that many tabs
SHOWN = 20  # samples that the menu of drafts names
MINE = """SELECT d.sample_id, s.agent_id, s.turn_number, MAX(d.saved_at) AS latest FROM sample_drafts d
JOIN dataset_samples s ON s.id = d.sample_id WHERE d.username = %s
GROUP BY d.sample_id, s.agent_id, s.turn_number ORDER BY latest DESC LIMIT %s"""


@dataclass(frozen=True, slots=True)
class Draft:
    """The form's fields by name, and the opening of the page they were typed on."""

    fields: dict[str, str]
    page: str
    saved_at: int

    @property
    def name(self) -> str:
        """The name by which a page that begins with this draft refers to it."""
        return f"{self.page}@{self.saved_at}"


@dataclass(frozen=True, slots=True)
class DraftedSample:
    """A sample on which somebody has a draft."""

    sample_id: str
    agent_id: str
    turn_number: int | None
    saved_at: int


def build_page_name() -> str:
    """A new name for one opening of a page."""
    return secrets.token_urlsafe(9)


def find_drafts(sample_id: str, *, by: str) -> list[Draft]:
    """This person's drafts on a sample, the latest first: mostly none or one."""
    rows = SampleDraft.objects.filter(username=by, sample_id=sample_id).order_by("-saved_at", "-id")
    return [Draft(row.fields, row.page, row.saved_at) for row in rows]


def find_own_drafts(by: str) -> list[DraftedSample]:
    """The samples with drafts of this person, the latest first.

    When there are more than SHOWN, one more than SHOWN is returned.
    """
    return [DraftedSample(*row) for row in statements.read_rows(DEFAULT_DB_ALIAS, MINE, [by, SHOWN + 1])]


def save(
    sample: DatasetSample, typed: Mapping[str, str], initial: Mapping[str, str], *, by: str, page: str, base: str = ""
) -> Draft | None:
    """Store the fields typed on a page in place of the draft `base`.

    Returns None when no field differs from `initial`, the fields before anybody types: then no draft remains. Raises
    Refused when too many pages have drafts.
    """
    fields = {name: text for name, text in typed.items() if text != normalise_text(initial.get(name) or "")}
    with write_queue.global_transaction():
        own = SampleDraft.objects.filter(username=by, sample_id=sample.id)
        base_page, _at, saved_at = base.rpartition("@")
        if saved_at.isdecimal():  # only if it has not changed: another tab may have continued with it
            own.filter(page=base_page, saved_at=int(saved_at)).exclude(page=page).delete()
        if not fields:
            own.filter(page=page).delete()
            return None
        if own.exclude(page=page).count() >= MOST_PAGES:
            raise Refused(_("You have drafts of this sample in too many other tabs. Discard some of them first."))
        return _store_draft(sample.id, by, page, fields)


def end_drafts(sample_id: str, *, by: str, pages: Collection[str]) -> None:
    """Delete the drafts of these pages, inside the caller's transaction, after their verdict."""
    if pages:
        SampleDraft.objects.filter(username=by, sample_id=sample_id, page__in=pages).delete()


def discard(sample_id: str, *, by: str) -> None:
    """Delete this person's drafts on a sample, of every page."""
    SampleDraft.objects.filter(username=by, sample_id=sample_id).delete()


def restore_draft(label: SampleLabel, *, by: str) -> None:
    """Store an undone verdict's fields as a draft again, inside the caller's transaction."""
    before = label.before
    typed = {"output": label.output} if label.output is not None and label.output != before.get("output") else {}
    if label.notes:
        typed["notes"] = label.notes
    typed |= parts.find_typed_fields(label, before)
    if typed and label.bulk_id is None:
        _store_draft(label.sample_id, by, build_page_name(), typed)


def _store_draft(sample_id, by, page, fields):
    draft = Draft(fields, page, clock.now_ms())
    SampleDraft.objects.update_or_create(
        username=by,
        sample_id=sample_id,
        page=page,
        defaults={"fields": fields, "saved_at": draft.saved_at},
    )
    return draft
