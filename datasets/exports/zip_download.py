"""All files of an export as one download."""

from openclaw_web.errors import Refused
from openclaw_web.pages.downloads import StreamedDownload
from openclaw_web.pages.zips import ZipEntry, compute_length, stream_zip

from ..exporters.files.file_names import dataset_name
from ..models import DatasetExport
from .exports import describe_unsent_file, folder_of, has_its_size, list_files


def download_zip(export: DatasetExport) -> StreamedDownload:
    """A ZIP with one folder, named after the export, of all its files.

    Raises Refused when a file is missing or has another size: what it holds is not compared here.
    """
    name = export.manifest.get("dataset") or dataset_name(export.export_name, export.export_format)
    files = []
    for file in list_files(export):
        path = folder_of(export) / file.name
        if not has_its_size(path, file):
            raise Refused(describe_unsent_file(file.name))
        files.append(ZipEntry(f"{name}/{file.name}", path, file.bytes))
    response = StreamedDownload(stream_zip(files), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    response["Content-Length"] = compute_length(files)
    return response
