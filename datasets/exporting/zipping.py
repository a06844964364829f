"""All files of an export as one download."""

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.pages.downloads import StreamedDownload
from openclaw_web.pages.zips import Packed, length, zipped

from ..exporters.files.naming import dataset_name
from ..models import DatasetExport
from .exports import folder_of, promised, read_manifest


def download(export: DatasetExport) -> StreamedDownload:
    """A ZIP with one folder, named after the export, that holds what its manifest promises.

    Raises Refused when a file is missing or has another size: what is not whole is not sent.
    """
    name = read_manifest(export).get("dataset") or dataset_name(export.export_name, export.export_format)
    files = [Packed(f"{name}/{file.name}", folder_of(export) / file.name, file.bytes) for file in promised(export)]
    for file in files:
        if not file.path.is_file() or file.path.stat().st_size != file.size:
            sentence = _("%(file)s is missing or was changed. Verify the files of this export.")
            raise Refused(sentence % {"file": file.path.name})
    response = StreamedDownload(zipped(files), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    response["Content-Length"] = length(files)
    return response
