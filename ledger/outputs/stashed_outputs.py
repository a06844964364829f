"""Outputs that are artifacts, for readers of records: how a page names them, and what their records leave out."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from django.urls import reverse

from artifacts import handles
from artifacts.contents import secret_flags
from artifacts.errors import DamagedArtifact, NoSuchArtifact

from ..models import TranscriptEvent
from ..transcripts.trimming import StashedOutput, get_text, parse_cuts, parse_stashed, untrim

Row = dict[str, Any]


@dataclass(slots=True)
class Output:
    """One output as a page shows it, beside the preview that stands in its record.

    `missing` counts the characters that the preview does not show; `address` is the artifact's page.
    """

    summary: str
    missing: int
    is_flagged: bool
    address: str
    download: str


def read_outputs(agent_id: str, rows: Iterable[Row]) -> dict[int, list[Output]]:
    """The outputs of rows (with `seq`, `trim_json` and the parsed `record`) that are artifacts, by `seq`."""
    notes = {row["seq"]: found for row in rows if (found := parse_stashed(row["trim_json"]))}
    if not notes:
        return {}
    kinds = counted(note for found in notes.values() for note in found)
    records = {row["seq"]: row["record"] for row in rows if row["seq"] in notes}
    return {seq: [_output(agent_id, records[seq], note, kinds) for note in found] for seq, found in notes.items()}


def read_event_outputs(agent_id: str, event: TranscriptEvent) -> list[Output]:
    """The outputs of one record that are artifacts."""
    if not parse_stashed(event.trim_json):
        return []
    row = {"seq": event.seq, "trim_json": event.trim_json, "record": event.record}
    return read_outputs(agent_id, [row])[event.seq]


def outputs_to_json(events: Iterable[TranscriptEvent]) -> dict[tuple[str, int], list[Row]]:
    """What the API says of the outputs of records that are artifacts, by session and `seq`."""
    notes = {(event.session_id, event.seq): found for event in events if (found := parse_stashed(event.trim_json))}
    kinds = counted(note for found in notes.values() for note in found)
    return {place: [_told(note, kinds) for note in found] for place, found in notes.items()}


def counted(notes: Iterable[StashedOutput]) -> frozenset[str]:
    """The kinds of secrets that flag an artifact; the setting is only read when one of these holds any."""
    return secret_flags.read_flagged_kinds() if any(note.secrets for note in notes) else frozenset()


def is_flagged(trim_json: str | None, kinds: frozenset[str]) -> bool:
    """Whether an output of a record is an artifact that holds one of these kinds of secrets."""
    return any(secret_flags.is_flagged(note.secrets, kinds) for note in parse_stashed(trim_json))


def count_hidden(trim_json: str | None) -> int:
    """About how many characters of a record are not in `event_json`."""
    return sum(count for _path, count in parse_cuts(trim_json)) + sum(note.chars for note in parse_stashed(trim_json))


def read_whole_record(event_json: str, full_zstd: bytes | None, trim_json: str | None) -> tuple[Row, str]:
    """A whole record, and a sentence when an output of it cannot be read: then its preview stands for it."""
    try:
        return untrim(event_json, full_zstd, trim_json), ""
    except (NoSuchArtifact, DamagedArtifact) as problem:
        return untrim(event_json, full_zstd), problem.sentence


def _output(agent_id, record, note, kinds):
    place = [agent_id, handles.parse(note.handle)]
    return Output(
        summary=note.summary,
        missing=max(0, note.chars - len(get_text(record, note.path))),
        is_flagged=secret_flags.is_flagged(note.secrets, kinds),
        address=reverse("artifacts:artifact_detail", args=place),
        download=reverse("artifacts:artifact_download", args=place),
    )


def _told(note, kinds):
    told = asdict(note)
    return told | {"is_flagged": secret_flags.is_flagged(told.pop("secrets"), kinds)}
