"""Sessions with compactions, and their checkpoint packs, for tests."""

from ledger.checkpoints import compactions, pack_builder
from ledger.checkpoints.pack import pack_to_bytes
from tests.homes import assistant, result, user
from tests.ledger.outputs.stored_outputs import make_output

SUMMARY = """## Goal
Mend the import.

## Key Decisions
- **Keep JSONL raw**: needed for re-import
- (none)

## Next Steps
1. Run it on everything
"""


def compaction(first_kept=None, summary=SUMMARY, **more):
    record = {"type": "compaction", "summary": summary, "tokensBefore": 52_179, "fromHook": False, **more}
    return record | ({"firstKeptEntryId": first_kept} if first_kept else {})


def make_records():
    """Three turns of work, a compaction that keeps the third, and a turn after it."""
    return [
        user("Why does the import fail?"),  # r1
        assistant("Looking.", ("c1", "read", {"path": "src/importer.py"})),
        result("c1", "def run(): ...", name="read"),
        assistant("", ("c2", "exec", {"command": "make test"}), ("c3", "exec", {"command": "sleep 9"})),  # r4
        result("c2", make_output(400, needle="fatal error: truncated"), details={"exitCode": 2}),
        assistant("Decision: skip truncated lines.\nI edit it."),
        user("Then do it"),  # r7
        assistant("", ("c4", "edit", {"path": "src/importer.py"}), ("c5", "write", {"path": "notes.md"})),
        result("c4", "ok", name="edit"),
        result("c5", "EACCES: permission denied", name="write", details={"status": "error"}),
        assistant("Done, but the notes could not be written."),
        user("Thank you"),  # r12
        assistant("You are welcome."),
        compaction("r12", details={"readFiles": ["AGENTS.md"], "modifiedFiles": ["src/importer.py"]}),  # r14
        user("Go on"),
        assistant("Yes."),
    ]


def build_pack(session, which="latest", **options):
    """Build the pack of a compaction of ada's session."""
    [selected] = compactions.find_compactions(session, which)
    return pack_builder.build_pack("ada", selected, **options)


def save_packs(session, which="latest", **options):
    """Save the sealed packs of the selected compactions."""
    return [
        pack_builder.store_pack(selected, pack_builder.build_pack("ada", selected, **options))
        for selected in compactions.find_compactions(session, which)
    ]


def sealed_text(session, which="latest", **options):
    return pack_to_bytes(build_pack(session, which, **options)).decode()
