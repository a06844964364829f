"""An export as a person asks for it on the page, for the tests of exports."""

from django.urls import reverse

from datasets.models import DatasetExport
from jobs import running

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
    running.run_next()
    return DatasetExport.objects.get()
