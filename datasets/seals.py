"""Seals of releases: each column of a version and of its members, as they were released, and their SHA-256.

A seal has the names of its columns: a column that the tables get later is covered by the seals made since. The SHA-256
is also in the audit log, and in the manifests of exports and of backups.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any

import zstandard
from django.conf import settings
from django.db.models import Model, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements
from openclaw_web.sqlite.fields import Json
from people.models import AuditEntry

from .json_texts import escape_halves
from .models import DatasetExport, DatasetMember, DatasetVersion, ReleaseSeal

ACTIONS = ("released", "sealed")  # whose entries in the audit log have the SHA-256
LONGEST_VALUE = 80  # characters of a value in a sentence
LAST = chr(0x10FFFF)  # behind the ids of all samples


def seal_release(version: DatasetVersion) -> ReleaseSeal:
    """The seal of a version as it is about to be saved, with the members that it has."""
    names, member_names = (list_columns(model) for model in (DatasetVersion, DatasetMember))
    lines: Iterable[Any] = ([names, member_names], [getattr(version, name) for name in names])
    digest, packer, parts = hashlib.sha256(), zstandard.ZstdCompressor().compressobj(), []
    for line in chain(lines, map(list, map(dict.values, _read_members(version, member_names)))):
        data = json.dumps(line).encode() + b"\n"
        digest.update(data)
        parts.append(packer.compress(data))
    contents = b"".join([*parts, packer.flush()])
    return ReleaseSeal(version=version, sha256=digest.hexdigest(), contents=contents, sealed_at=clock.now_ms())


def refuse_changed(version_id: str) -> None:
    """Raise Refused for a release that is not as it was sealed, with the first difference."""
    version = DatasetVersion.objects.select_related("dataset").get(id=version_id)
    if change := find_change(version):
        sentence = _(
            "Release %(number)s of %(name)s was changed, so nothing is exported. %(change)s An admin can release anew "
            "from its members."
        )
        raise Refused(sentence % {"number": version.number, "name": version.dataset.name, "change": change})


def find_change(version: DatasetVersion) -> str:
    """The first difference of a release from its seal, as a sentence; empty when there is none."""
    seal = ReleaseSeal.objects.filter(version=version).first()
    if seal is None:
        return _(
            "It has no seal: its members were not those of its checksum when it was to be sealed, or it was removed."
        )
    places = list(read_places(version))
    sentence = _("The SHA-256 of its seal is not the one in %(place)s, so what was changed cannot be told.")
    for place, sha256 in places:
        if sha256 != seal.sha256:
            return sentence % {"place": place}
    digest = hashlib.sha256()
    try:
        for line in unpack(seal):
            digest.update(line)
    except (zstandard.ZstdError, TypeError):
        digest.update(b"damaged")
    if digest.hexdigest() != seal.sha256:
        return _("The contents of its seal are not those of its SHA-256, so what was changed cannot be told.")
    change = _find_difference(version, map(json.loads, unpack(seal)))
    if not change and _("the audit log") not in dict(places):
        return sentence % {"place": _("the audit log")}
    return escape_halves(change)  # what is no UTF-8 cannot be stored


def read_places(version: DatasetVersion) -> Iterator[tuple[str, str | None]]:
    """The places that have the SHA-256 of a release's seal beside it, in words, and what they have.

    The audit log is searched by the dataset.
    """
    entries = AuditEntry.objects.filter(object_type="dataset", object_id=version.dataset_id, action__in=ACTIONS)
    details = [entry.detail for entry in entries.only("detail_json")]
    for sha256 in {detail.get("seal") for detail in details if detail.get("version") == version.id}:
        yield _("the audit log"), sha256
    for place in settings.SEAL_PLACES:
        yield from import_string(place)(version.id)


def read_exports(version_id: str) -> Iterator[tuple[str, str]]:
    """The SHA-256 of a release's seal in the manifest of each of its exports."""
    exports = DatasetExport.objects.filter(version_id=version_id, state=DatasetExport.State.READY)
    seals = exports.annotate(seal=KeyTextTransform("seal", KeyTransform("release", Json("manifest_json"))))
    for name, sha256 in seals.exclude(seal=None).order_by("exported_at", "id").values_list("export_name", "seal"):
        yield _("the manifest of the export %(name)s") % {"name": name}, sha256


def _find_difference(version, lines: Iterator[list[Any]]) -> str:
    """The first difference of the rows from the lines of a seal; columns that are gone by now are left out."""
    sealed_names, sealed_member_names = next(lines)
    names = [name for name in list_columns(DatasetVersion) if name in sealed_names]
    member_names = [name for name in list_columns(DatasetMember) if name in sealed_member_names]
    before = dict(zip(sealed_names, next(lines), strict=True))
    now = next(_read_rows(DatasetVersion.objects.filter(id=version.id), names))
    for name in names:
        if before[name] != now[name]:
            return _("Its %(column)s was %(before)s and is %(now)s now.") % _describe(name, before, now)
    members = (dict(zip(sealed_member_names, line, strict=True)) for line in lines)
    for before, now in zip_longest(members, _read_members(version, member_names), fillvalue={}):
        sample, known = (str(member.get("sample_id", LAST)) for member in (now, before))
        if sample < known:
            return _("The member %(sample)s was added.") % {"sample": sample}
        if known < sample:
            return _("The member %(sample)s was removed.") % {"sample": known}
        for name in member_names:
            if before[name] != now[name]:
                sentence = _("%(column)s of the member %(sample)s was %(before)s and is %(now)s now.")
                return sentence % {"sample": sample, **_describe(name, before, now)}
    return ""


def _describe(name, before, now):
    values = ("–" if row[name] is None else str(row[name]) for row in (before, now))
    texts = [value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…" for value in values]
    return {"column": name, "before": texts[0], "now": texts[1]}


def list_columns(model: type[Model]) -> list[str]:
    """The columns of a table that a seal covers: all of them."""
    return [field.attname for field in model._meta.concrete_fields]


def _read_members(version, names) -> Iterator[dict[str, Any]]:
    return _read_rows(DatasetMember.objects.filter(version=version).order_by("sample_id", "id"), names)


def _read_rows(rows: QuerySet[Any], names: list[str]) -> Iterator[dict[str, Any]]:
    """The columns of rows as they are stored, whatever types and bytes somebody wrote into them."""
    sql = rows.values_list(*names).query.sql_with_params()
    with statements.undecodable_texts("default"):
        for row in statements.iterate_rows("default", *sql):
            yield dict(zip(names, row, strict=True))


def unpack(seal: ReleaseSeal) -> Iterator[bytes]:
    """The lines of a seal. Raises ZstdError or TypeError while they are read when they were changed."""
    return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(seal.contents))
