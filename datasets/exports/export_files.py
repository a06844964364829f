"""What the page of an export says of its files: which there are, what to type to train, the latest comparison."""

from dataclasses import dataclass
from typing import Any

from jobs.models import JobRun

from ..exporters.files.trainers import COMMAND_LINES, DATASETS_LINE
from ..models import DatasetExport
from . import exports, jobs, secret_access
from .builder.card import README
from .verification import INTACT


@dataclass(frozen=True, slots=True)
class ExportFiles:
    """`rows`: a file with its state when it was last compared, empty when it was not. `result`: of that comparison.

    `lines` are typed in the folder of the export. `is_for_admins`: and this person is none.
    """

    rows: list[tuple[Any, dict[str, str]]]
    lines: list[str]
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
        """What the latest comparison found that is not intact."""
        return [file for file in self.result.get("files", []) if file["state"] != INTACT]

    @property
    def others(self) -> list[dict[str, str]]:
        """Files that lie in the folder and that nothing promises."""
        known = {file.name for file, _state in self.rows}
        return [file for file in self.result.get("files", []) if file["name"] not in known]


def read_export_files(export: DatasetExport, user: Any) -> ExportFiles:
    """The files of an export; none of one that is not ready."""
    is_ready = export.state == DatasetExport.State.READY
    files = exports.list_files(export) if is_ready else []
    job = jobs.find_verification(export) if is_ready else None
    result = job.result if job and job.state == JobRun.State.FINISHED else {}
    states = {file["name"]: file for file in result.get("files", [])}
    names = {file.name for file in files}
    return ExportFiles(
        rows=[(file, states.get(file.name, {})) for file in files],
        lines=_lines(names),
        job=job,
        result=result,
        is_for_admins=bool(secret_access.count_flagged_rows(export)) and not user.has_role("admin"),
        may_verify=user.has_role("labeller"),
    )


def _lines(names):
    lines = [line for name, line in COMMAND_LINES.items() if name in names]
    return [*lines, DATASETS_LINE] if README in names else lines
