"""Access to exports with texts that may hold secrets.

Only admins may create and download them, all of it in the audit log.
"""

from django.utils.translation import gettext as _

from artifacts.content_download import FlaggedArtifact
from people.audit import log as audit

from ..exporters.changes import SECRETS_FOUND
from ..models import DatasetExport


def check_include_flagged(include_flagged: bool, *, is_admin: bool) -> None:
    """Raises FlaggedArtifact when somebody other than an admin includes such texts."""
    if include_flagged and not is_admin:
        raise FlaggedArtifact(
            _("Only admins may export texts that may contain secrets. Exclude these texts, or ask an admin.")
        )


def check_download(export: DatasetExport, name: str | None, *, by: str, is_admin: bool) -> None:
    """Raises FlaggedArtifact when somebody other than an admin downloads such rows.

    The refusal is written to the audit log. Without a name, the download is of all files.
    """
    if is_admin or not count_flagged_rows(export):
        return
    if any(name in (None, file["name"]) and "rows" in file for file in export.manifest["files"]):
        audit.record(by, "download_refused", object_type="export", object_id=export.id, file=name or "zip")
        raise FlaggedArtifact(_("This file contains texts that may contain secrets: only admins may download it."))


def count_flagged_rows(export: DatasetExport) -> int:
    """Count the rows of an export with texts that may hold secrets."""
    return export.manifest.get("transformations", {}).get(SECRETS_FOUND, 0)
