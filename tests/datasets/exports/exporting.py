"""Exports for tests, as a person asks for them on the page or as they are built at once, and what is in them."""

import orjson
from django.urls import reverse

from datasets.exporters.formats.checks import find_broken_rules
from datasets.exports import exports
from datasets.models import DatasetExport
from jobs import execution
from tests.datasets.exports.branches import Steps, body
from tests.factories import SampleFactory

LIST = "/exports/"
WANTED = {
    "name": "First try",
    "format": "alpaca",
    "task": "reply",
    "only_approved": "on",
    "train_split": "1",
    "seed": "0",
    "row_characters": "32000",
    "history": "edited",
}


def make(browser, **changes):
    """Ask for an export on the page and let the worker build it."""
    answer = browser.post(reverse("datasets:export_create"), WANTED | changes)
    assert answer.status_code == 302, answer.text
    execution.run_next()
    return DatasetExport.objects.get()


def build(format_="alpaca", task="reply", *, name="one", **choices):
    """A built export; all of it is for training, unless something else is chosen."""
    export = exports.create_export(name, format_, task, by="root", **{"train_split": 1} | choices)
    exports.build_export(export.id, Steps())
    export.refresh_from_db()
    return export


def rows_of(export, side="train"):
    """The rows of a side, as a loader reads them: none of them breaks a rule. None where the side is empty."""
    files = exports.folder_of(export).glob(f"ocl_*.{side}.jsonl")
    rows = [orjson.loads(line) for file in files for line in file.read_bytes().splitlines()]
    assert not any(find_broken_rules(export.export_format, row) for row in rows)
    return rows


def built(format_="sharegpt", task="reply", **choices):
    """The manifest of a built export, and its rows by their sample."""
    export = build(format_, task, **choices)
    return export.manifest, {row["sample_id"]: row for row in rows_of(export)}


def left_out(made):
    """The samples that an export, or its manifest, left out, by reason."""
    manifest = made if isinstance(made, dict) else made.manifest
    return {entry["reason"]: entry["samples"] for entry in manifest["excluded"]}


def approve(count, **columns):
    """An approved sample of each of the first turns of the session s1."""
    for number in range(1, count + 1):
        place = {"session_id": "s1", "turn_number": number, "annotation_status": "approved"}
        SampleFactory(id=f"sample-{number}", **{"content": body(number), **place, **columns})


def counts_left_out(export):
    """How many samples an export left out, by reason."""
    return {entry["reason"]: entry["count"] for entry in export.manifest["excluded"]}
