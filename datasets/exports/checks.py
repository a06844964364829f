"""The doctor's check of exports: whether their files are what was written."""

from collections.abc import Iterator
from functools import partial

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.sqlite.integrity import DAMAGED, Check, find_file_problem

from ..models import DatasetExport
from .exports import MANIFEST, folder_of, list_files


def _find_changed(_db, *, is_deep) -> Iterator[str]:
    """Files of finished exports that are gone, or of another size; `is_deep` reads them all."""
    exports = DatasetExport.objects.filter(state=DatasetExport.State.READY).order_by("exported_at", "id")
    for export in exports.iterator():
        files = list_files(export)
        if not files:
            yield _("%(file)s has different content") % {"file": f"{export.export_name}: {MANIFEST}"}
        for file in files:
            name = f"{export.export_name}: {export.file_path}/{file.name}"
            digest = file.sha256 if is_deep else ""
            if problem := find_file_problem(folder_of(export) / file.name, name, file.bytes, digest):
                yield problem


CHECKS = (
    Check(
        name="export_files",
        sentence=DAMAGED,
        noun="files",
        find=partial(_find_changed, is_deep=False),
        find_deep=partial(_find_changed, is_deep=True),
        advice=gettext_lazy("Run the export again to get its files."),
    ),
)
