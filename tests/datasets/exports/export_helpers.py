"""Helpers that create exports, by the page or directly, and read their files."""

import orjson
from django.urls import reverse

from datasets.exports import exports
from datasets.exports.rules import find_broken_rules
from datasets.models import DatasetExport
from jobs import execution
from tests.datasets.exports.branches import Steps, body
from tests.factories import SampleFactory

LIST = "/exports/"
FORM_FIELDS = {
    "name": "First try",
    "format": "alpaca",
    "task": "reply",
    "only_approved": "on",
    "train_split": "1",
    "seed": "0",
    "history": "edited",
}


def make_export(browser, **changes):
    """Request an export on the page and let the worker build it."""
    answer = browser.post(reverse("datasets:export_create"), FORM_FIELDS | changes)
    assert answer.status_code == 302, answer.text
    execution.run_next()
    return DatasetExport.objects.get()


def build_export(format_="alpaca", task="reply", *, name="one", **choices):
    """Build an export; all of it is for training, unless something else is chosen."""
    export = exports.create_export(name, format_, task, by="root", **{"train_split": 1} | choices)
    exports.build_export(export.id, Steps())
    export.refresh_from_db()
    return export


def read_rows(export, side="train"):
    """The rows of a side, as a loader reads them; an empty side has none.

    Asserts that no row breaks a rule.
    """
    files = exports.folder_of(export).glob(f"ocl_*.{side}.jsonl")
    rows = [orjson.loads(line) for file in files for line in file.read_bytes().splitlines()]
    assert not any(find_broken_rules(export.export_format, row) for row in rows)
    return rows


def build_and_read(format_="sharegpt", task="reply", **choices):
    """The manifest of a built export, and its rows by their sample."""
    export = build_export(format_, task, **choices)
    return export.manifest, {row["sample_id"]: row for row in read_rows(export)}


def excluded_samples(export_or_manifest):
    """The samples that an export or a manifest excludes, by reason."""
    manifest = export_or_manifest if isinstance(export_or_manifest, dict) else export_or_manifest.manifest
    return {entry["reason"]: entry["samples"] for entry in manifest["excluded"]}


def add_approved_samples(count, **columns):
    """Add an approved sample for each of the first `count` turns of the session s1."""
    for number in range(1, count + 1):
        place = {"session_id": "s1", "turn_number": number, "annotation_status": "approved"}
        SampleFactory(id=f"sample-{number}", **{"content": body(number), **place, **columns})


def excluded_counts(export):
    """The number of samples that an export excludes, by reason."""
    return {entry["reason"]: entry["count"] for entry in export.manifest["excluded"]}
