"""Outputs in the artifact store, for tests of their readers."""

from artifacts.store import layout
from ledger.models import TranscriptEvent
from ledger.transcripts.trimming import parse_stashed

SECRET = "api_key = sk-0123456789abcdefghij"


def make_output(count, *, needle="", secret=""):
    """Return a long output of numbered lines.

    A word stands in its middle, and a secret after it.
    """
    numbered = [f"line {number} of the output" for number in range(count)]
    numbered[count // 2] = f"line with {needle} and {secret}"
    return "\n".join(numbered) + "\n"


def list_handles(session="s1", db="agent_ada"):
    """List the artifacts that the outputs of a session became, in its order."""
    rows = TranscriptEvent.objects.using(db).filter(session_id=session).order_by("seq")
    return [note.handle for trim_json in rows.values_list("trim_json", flat=True) for note in parse_stashed(trim_json)]


def find_blob_file(handle):
    """Find the file of a content."""
    sha256 = handle[-64:]
    [file] = layout.get_root().glob(f"blobs/sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}.txt*")
    return file
