"""Samples as texts of the search: their words, as edited or corrected, and the notes of reviewers."""

from django.db.models import Max
from django.urls import reverse

from openclaw_web.sqlite.fields import RowId
from openclaw_web.sqlite.json_columns import decode
from search.sources import Item, list_texts
from search.table_source import TableSource

from .models import DatasetSample, SampleLabel
from .words import TYPE_WORDS

NO_WORDS = frozenset({"role", "timestamp", "turnMessages", "sequenceNumber"})  # keys whose values are nobody's
CORRECTED = ("gate_corrected_output", "guardian_corrected_output")
COLUMNS = ("content", "output", "annotation_notes", *CORRECTED, "created_at", "sample_type", "agent_id", "session_id")


def _build(_db, rows, is_hit):
    items = []
    for row in rows:
        texts = list_texts([decode(row[name]) for name in ("content", *CORRECTED)], NO_WORDS)
        fields = {"sample": "\n".join(filter(None, (row["output"], row["annotation_notes"], *texts)))}
        item = Item(row["id"], row["created_at"], "sample", fields, facts={"agent": row["agent_id"]})
        if is_hit:
            item.title = str(TYPE_WORDS.get(row["sample_type"], row["sample_type"]))
            item.href = reverse("datasets:sample_detail", args=[row["id"]])
        items.append(item)
    return items


def _read_version(db):
    """The last verdict: each has a row, and changes the words of its sample."""
    return str(SampleLabel.objects.using(db).annotate(place=RowId()).aggregate(last=Max("place"))["last"] or 0)


def _find_changed(db, version):
    labels = SampleLabel.objects.using(db).annotate(place=RowId()).filter(place__gt=int(version))
    return list(labels.order_by().values_list("sample_id", flat=True).distinct())


SAMPLES = TableSource(
    *("sample", DatasetSample, COLUMNS, _build),
    is_global=True,
    at_once=50,
    read_version=_read_version,
    find_changed=_find_changed,
)
