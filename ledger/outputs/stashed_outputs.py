"""Outputs of records that are artifacts: how pages and the API show them."""

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
    """One output as a page shows it, beside the preview that is in its record.

    `missing` counts the characters that the preview does not show; `address` is the artifact's page.
    """

    summary: str
    missing: int
    is_flagged: bool
    address: str
    download: str


def read_outputs(agent_id: str, rows: Iterable[Row]) -> dict[int, list[Output]]:
    """The outputs of rows that are artifacts, by `seq`.

    A row has `seq`, `trim_json` and the parsed `record`.
    """
    notes = {row["seq"]: row_notes for row in rows if (row_notes := parse_stashed(row["trim_json"]))}
    if not notes:
        return {}
    kinds = counted(note for row_notes in notes.values() for note in row_notes)
    records = {row["seq"]: row["record"] for row in rows if row["seq"] in notes}
    return {
        seq: [_build_output(agent_id, records[seq], note, kinds) for note in row_notes]
        for seq, row_notes in notes.items()
    }


def read_event_outputs(agent_id: str, event: TranscriptEvent) -> list[Output]:
    """The outputs of one record that are artifacts."""
    if not parse_stashed(event.trim_json):
        return []
    row = {"seq": event.seq, "trim_json": event.trim_json, "record": event.record}
    return read_outputs(agent_id, [row])[event.seq]


def outputs_to_json(events: Iterable[TranscriptEvent]) -> dict[tuple[str, int], list[Row]]:
    """The outputs of records that are artifacts as the API has them, by session and `seq`."""
    notes = {
        (event.session_id, event.seq): event_notes
        for event in events
        if (event_notes := parse_stashed(event.trim_json))
    }
    kinds = counted(note for event_notes in notes.values() for note in event_notes)
    return {place: [_output_to_json(note, kinds) for note in event_notes] for place, event_notes in notes.items()}


def counted(notes: Iterable[StashedOutput]) -> frozenset[str]:
    """The kinds of secrets that flag an artifact.

    The setting is only read when one of these outputs holds a secret.
    """
    return secret_flags.read_flagged_kinds() if any(note.secrets for note in notes) else frozenset()


def is_flagged(trim_json: str | None, kinds: frozenset[str]) -> bool:
    """Whether an output of a record is an artifact with one of these kinds of secrets."""
    return any(secret_flags.is_flagged(note.secrets, kinds) for note in parse_stashed(trim_json))


def count_hidden(trim_json: str | None) -> int:
    """About how many characters of a record are not in `event_json`."""
    return sum(count for _path, count in parse_cuts(trim_json)) + sum(note.chars for note in parse_stashed(trim_json))


def read_whole_record(event_json: str, full_zstd: bytes | None, trim_json: str | None) -> tuple[Row, str]:
    """A whole record, and a sentence when an output of it cannot be read.

    The preview of such an output stays in its place.
    """
    try:
        return untrim(event_json, full_zstd, trim_json), ""
    except (NoSuchArtifact, DamagedArtifact) as problem:
        return untrim(event_json, full_zstd), problem.sentence


def _build_output(agent_id, record, note, kinds):
    place = [agent_id, handles.parse(note.handle)]
    return Output(
        summary=note.summary,
        missing=max(0, note.chars - len(get_text(record, note.path))),
        is_flagged=secret_flags.is_flagged(note.secrets, kinds),
        address=reverse("artifacts:artifact_detail", args=place),
        download=reverse("artifacts:artifact_download", args=place),
    )


def _output_to_json(note, kinds):
    values = asdict(note)
    return values | {"is_flagged": secret_flags.is_flagged(values.pop("secrets"), kinds)}
