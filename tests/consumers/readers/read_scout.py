"""Run inside a consumer's environment: a folder as Inspect Scout reads and scans it. Prints one JSON object."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from inspect_scout import Result, Transcript, scan, scanner, transcripts_from
from inspect_scout._transcript.database.factory import transcripts_view
from inspect_scout._transcript.types import TranscriptContent


@scanner(messages="all")
def count_messages():
    """Counts messages, without a model."""

    async def count(transcript: Transcript) -> Result:
        return Result(value=len(transcript.messages))

    return count


async def list_transcripts(folder):
    """The number of messages of each transcript, by its id: as its row says, and as they are read."""
    view, counts = transcripts_view(folder), {}
    await view.connect()
    async for info in view.select():
        transcript = await view.read(info, TranscriptContent(messages="all"))
        counts[info.transcript_id] = [info.message_count, len(transcript.messages)]
    await view.disconnect()
    return counts


def read(folder):
    """The answer of `scout db validate`, the transcripts, and the results of a scan."""
    scout = Path(sys.executable).parent / "scout"
    checked = subprocess.run([scout, "db", "validate", folder], capture_output=True, text=True, check=False)
    counts = asyncio.run(list_transcripts(folder))
    status = scan(
        [count_messages()], transcripts=transcripts_from(folder), scans="scans", display="none", max_processes=1
    )
    scanned = status.summary.scanners["count_messages"]
    return {
        "validation": checked.stdout.strip(),
        "counts": counts,
        "is_complete": status.complete,
        "scanned": [scanned.results, scanned.errors],
    }


if __name__ == "__main__":
    answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
    sys.stdout.write("\n" + json.dumps({"answers": answers}))
