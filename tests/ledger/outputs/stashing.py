"""Outputs in the artifact store, for tests of who reads them."""

from artifacts.store import layout
from ledger.models import TranscriptEvent
from ledger.transcripts.trimming import parse_stashed

SECRET = "api_key = sk-0123456789abcdefghij"


def lines(count, *, needle="", secret=""):
    """A long output: numbered lines, with a word in its middle and a secret after it."""
    said = [f"line {number} of the output" for number in range(count)]
    said[count // 2] = f"line with {needle} and {secret}"
    return "\n".join(said) + "\n"


def handles(session="s1", db="agent_ada"):
    """The artifacts that the outputs of a session became, in its order."""
    rows = TranscriptEvent.objects.using(db).filter(session_id=session).order_by("seq")
    return [note.handle for told in rows.values_list("trim_json", flat=True) for note in parse_stashed(told)]


def blob(handle):
    """The file of a content."""
    sha256 = handle[-64:]
    [found] = layout.get_root().glob(f"blobs/sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}.txt*")
    return found
