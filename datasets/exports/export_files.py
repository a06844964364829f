"""The files of an export as its page shows them, with their latest comparison with what was written."""

from dataclasses import dataclass
from typing import Any

from jobs.models import JobRun

from ..exporters.files.trainers import DATASETS_LINE
from ..models import DatasetExport
from . import exports, jobs, secret_access
from .builder.card import README
from .verification import INTACT


@dataclass(frozen=True, slots=True)
class ExportFiles:
    """Files of an export, and their latest comparison.

    `rows`: each file with its state in that comparison, empty without one. `line` of Python loads the rows, in the
    folder of the export: empty where there is no card. `result` is that of the comparison, which `job` made.
    `is_for_admins`: the files are for admins, and this person is none.
    """

    rows: list[tuple[Any, dict[str, str]]]
    line: str
    job: JobRun | None
    result: dict[str, Any]
    is_for_admins: bool
    may_verify: bool

    @property
    def is_verifying(self) -> bool:
        """Whether files are being compared now, or will be."""
        return self.job is not None and not self.job.has_ended

    @property
    def wrong(self) -> list[dict[str, str]]:
        """Files that the latest comparison did not find intact."""
        return [file for file in self.result.get("files", []) if file["state"] != INTACT]

    @property
    def others(self) -> list[dict[str, str]]:
        """Files in the folder that the manifest does not name."""
        known = {file.name for file, _state in self.rows}
        return [file for file in self.result.get("files", []) if file["name"] not in known]


def read_export_files(export: DatasetExport, user: Any) -> ExportFiles:
    """The files of an export; none of one that is not ready."""
    is_ready = export.state == DatasetExport.State.READY
    files = exports.list_files(export) if is_ready else []
    job = jobs.find_verification(export) if is_ready else None
    result = job.result if job and job.state == JobRun.State.FINISHED else {}
    states = {file["name"]: file for file in result.get("files", [])}
    return ExportFiles(
        rows=[(file, states.get(file.name, {})) for file in files],
        line=DATASETS_LINE if README in {file.name for file in files} else "",
        job=job,
        result=result,
        is_for_admins=bool(secret_access.count_flagged_rows(export)) and not user.has_role("admin"),
        may_verify=user.has_role("labeller"),
    )
