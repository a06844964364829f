"""Access to exports with personal data, and with findings that nobody judged.

Only admins may create and download them, all of it in the audit log.
"""

from collections.abc import Collection

from django.utils.translation import gettext as _

from artifacts.content_download import FlaggedArtifact
from people.audit import log as audit

from ..exporters.changes import OPEN_FINDINGS
from ..models import DatasetExport
from .options import FLAGGED


def check_choices(*, include: Collection[str] = (), include_pii: bool = False, is_admin: bool) -> None:
    """Raises FlaggedArtifact when somebody other than an admin chooses what only admins may."""
    if FLAGGED in include and not is_admin:
        raise FlaggedArtifact(
            _("Only admins may export keys and passwords that nobody has judged. Leave them out, or ask an admin.")
        )
    if include_pii and not is_admin:
        raise FlaggedArtifact(_("Only admins may export personal data. Have it redacted, or ask an admin."))


def check_download(export: DatasetExport, name: str | None, *, by: str, is_admin: bool) -> None:
    """Raises FlaggedArtifact when somebody other than an admin downloads such rows.

    The refusal is written to the audit log. Without a name, the download is of all files.
    """
    if is_admin or not count_flagged_rows(export):
        return
    if any(name in (None, file["name"]) and "rows" in file for file in export.manifest["files"]):
        audit.record(by, "download_refused", object_type="export", object_id=export.id, file=name or "zip")
        raise FlaggedArtifact(
            _("This file may contain personal data, or keys that nobody has judged: only admins may download it.")
        )


def count_flagged_rows(export: DatasetExport) -> int:
    """Count the rows of an export that only admins may read.

    With personal data these are all of its rows, else those with findings that nobody judged.
    """
    manifest = export.manifest
    if manifest.get("options", {}).get("include_pii"):
        return manifest["counts"]["rows"]
    return manifest.get("transformations", {}).get(OPEN_FINDINGS, 0)
