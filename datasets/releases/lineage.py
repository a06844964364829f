"""Leads from a sample to its exports, releases and rows."""

from dataclasses import dataclass
from itertools import count
from typing import Any

from agents.models import Agent
from guardian.models import WriteGuardianAudit

from ..exports.jobs import start_export
from ..exports.options import CHOICES, LONGEST_NAME, ROLLED_BACK, UNEXPLAINED, read_options
from ..exports.row_samples import read_rows_of
from ..kinds.write import WRITE
from ..models import DatasetExport, DatasetMember, DatasetSample, DatasetVersion, VersionTaint

MOST_EXPORTS = 200  # the newest ready exports that are looked at
MOST_VERSIONS = 200
MOST_SAMPLES = 20  # of the turn of a write
NAME_CHARACTERS = LONGEST_NAME - 8  # room for a number


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A row of an export that teaches a sample."""

    export: DatasetExport
    side: str
    row: int

    @property
    def address(self) -> str:
        """The page of the export with this row, where pages show rows: of the training file."""
        return f"{self.export.get_absolute_url()}?row={self.row}" if self.side == "train" else ""


def find_rows(sample_id: str) -> list[SampleRow]:
    """The rows of ready exports that teach a sample, the newest export first.

    Exports without an index are left out.
    """
    exports = DatasetExport.objects.filter(state=DatasetExport.State.READY).order_by("-exported_at", "-id")
    light = exports.only("id", "export_name", "export_format", "task", "exported_at", "version_id")
    return [
        SampleRow(export, side, row)
        for export in light[:MOST_EXPORTS]
        for side, row in read_rows_of(export.id, sample_id) or ()
    ]


def find_members(sample_id: str) -> list[DatasetMember]:
    """The memberships of a sample in releases, the newest release first, each with version and dataset."""
    members = DatasetMember.objects.filter(sample_id=sample_id, version__state=DatasetVersion.State.RELEASED)
    return list(members.select_related("version__dataset").order_by("-version__released_at")[:MOST_VERSIONS])


def describe_sample(sample_id: str) -> dict[str, Any]:
    """The releases, rows and taints of a sample, as values of JSON."""
    taints = VersionTaint.objects.filter(sample_id=sample_id).values_list("version_id", "reason")
    return {
        "releases": [
            {
                "dataset": member.version.dataset.name,
                "dataset_id": member.version.dataset_id,
                "number": member.version.number,
                "version_id": member.version_id,
                "side": member.side,
                "status": member.status,
                "taints": sorted(reason for version_id, reason in taints if version_id == member.version_id),
            }
            for member in find_members(sample_id)
        ],
        "rows": [
            {
                "export_id": place.export.id,
                "export": place.export.export_name,
                "format": place.export.export_format,
                "side": place.side,
                "row": place.row,
            }
            for place in find_rows(sample_id)
        ],
    }


def find_write_samples(agent: Agent, write: WriteGuardianAudit) -> list[str]:
    """The ids of the samples that teach a write, or the turn that it was about."""
    ids = [WRITE.find_sample_id(agent, write.id)]
    if write.turn_id and write.session_id:
        of_session = DatasetSample.objects.filter(agent_id=agent.agent_id, session_id=write.session_id)
        ids += of_session.filter(turn_id=write.turn_id).order_by("id").values_list("id", flat=True)[:MOST_SAMPLES]
    return list(dict.fromkeys(ids))


def start_again(export: DatasetExport, *, by: str, is_admin: bool) -> DatasetExport:
    """Export once more with the same options, without corrections without a reason and writes that were rolled back.

    Of a release, all members that are known to be unusable are left out too. Its name has the next free number. Raises
    Refused for options that cannot be exported any more.
    """
    options = read_options(export)
    choices = {name: getattr(options, name) for name in CHOICES} | {"sample_types": options.sample_types}
    choices["include"] = sorted({*options.include} - {ROLLED_BACK, UNEXPLAINED})
    taken = set(
        DatasetExport.objects.filter(export_name__startswith=export.export_name[:NAME_CHARACTERS]).values_list(
            "export_name", flat=True
        )
    )
    name = next(
        name for number in count(2) if (name := f"{export.export_name[:NAME_CHARACTERS]} {number}") not in taken
    )
    return start_export(name, options.format, options.task, by=by, is_admin=is_admin, **choices)
