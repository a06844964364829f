"""Creates and finds datasets; their options choose the samples of each release."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from people.audit import log as audit

from ..exports.options import CAPS, NEUTRAL_FORMAT, SAMPLE_KINDS, Options, check_name, check_options, translate_stored
from ..models import Dataset, DatasetExport, DatasetVersion

CHOICES = (
    *("task", "sample_types", "agent", "only_approved", "min_quality", "duplicates"),
    *("train_split", "validation_split", "seed", "split_by", "split_day", "benchmark"),
    *("include", "sample_filter", *CAPS),
)
DEFAULTS = {field.name: field.default for field in fields(Options) if field.name in CHOICES} | {
    "task": DatasetExport.Task.REPLY.value
}
LONGEST_DESCRIPTION = 2_000


def create_dataset(name: str, *, description: str = "", options: Mapping[str, Any] | None = None, by: str) -> Dataset:
    """Create a dataset without releases.

    `options` are some of CHOICES, with the values of exports.options.Options. Raises Refused for options that cannot
    be used, and for a name that is taken.
    """
    if not name.strip():
        raise Refused(_("Enter a name for the dataset."))
    name = check_name(name)
    if len(description) > LONGEST_DESCRIPTION:
        raise Refused(
            _("The description may have at most %(count)s characters.") % {"count": f"{LONGEST_DESCRIPTION:,}"}
        )
    chosen = build_options(options or {})
    check_options(chosen)
    stored = {choice: getattr(chosen, choice) for choice in CHOICES}
    try:
        with transaction.atomic():
            dataset = Dataset.objects.create(
                id=str(ULID()),
                name=name,
                description=description.strip(),
                options=stored,
                created_by=by,
                created_at=clock.now_ms(),
            )
            audit.record(by, "dataset_created", object_type="dataset", object_id=dataset.id, name=name)
    except IntegrityError as exc:
        if not Dataset.objects.filter(name=name).exists():
            raise
        raise Refused(_("There is already a dataset named %(name)s. Choose another name.") % {"name": name}) from exc
    return dataset


def find_dataset(name: str) -> Dataset:
    """The dataset with this name or id. Raises Refused when there is none."""
    dataset = Dataset.objects.filter(name=name).first() or Dataset.objects.filter(id=name).first()
    if dataset is None:
        raise Refused(
            _("There is no dataset named %(name)s. Create it on the page Datasets, or with release --create.")
            % {"name": name}
        )
    return dataset


def find_version(dataset: Dataset, number: int | None = None) -> DatasetVersion:
    """A release of a dataset by its number, else the latest.

    Raises Refused when there is none.
    """
    released = dataset.versions.filter(state=DatasetVersion.State.RELEASED)
    version = (released.filter(number=number) if number is not None else released.order_by("-number")).first()
    if version is None and number is not None:
        sentence = _("The dataset %(name)s has no release %(number)s.")
        raise Refused(sentence % {"name": dataset.name, "number": number})
    if version is None:
        raise Refused(_("The dataset %(name)s has no release yet.") % {"name": dataset.name})
    return version


def build_options(choices: Mapping[str, Any]) -> Options:
    """The options of a dataset for choosing samples, also as it has stored them.

    Raises Refused for a choice that is unknown.
    """
    choices = translate_stored(choices)
    if unknown := sorted(set(choices) - set(CHOICES)) or sorted(set(choices["include"]) - set(SAMPLE_KINDS)):
        sentence = _("A dataset has no option %(value)s. Choose %(choices)s.")
        raise Refused(sentence % {"value": unknown[0], "choices": listed(CHOICES)})
    chosen = {**DEFAULTS, **choices}
    return Options(format=NEUTRAL_FORMAT, **chosen | {"sample_types": chosen["sample_types"] or None})
