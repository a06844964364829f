"""Sessions with compactions, and their checkpoint packs, for tests."""

from ledger.checkpoints import compactions, pack_builder
from ledger.checkpoints.pack import pack_to_bytes
from tests.homes import assistant, result, user
from tests.ledger.outputs.stashing import lines

SUMMARY = """## Goal
Mend the import.

## Key Decisions
- **Keep JSONL raw**: needed for re-import
- (none)

## Next Steps
1. Run it on everything
"""


def compaction(kept=None, summary=SUMMARY, **more):
    record = {"type": "compaction", "summary": summary, "tokensBefore": 52_179, "fromHook": False, **more}
    return record | ({"firstKeptEntryId": kept} if kept else {})


def worked():
    """Three turns of work, a compaction that keeps the third, and a turn after it."""
    return [
        user("Why does the import fail?"),  # r1
        assistant("Looking.", ("c1", "read", {"path": "src/importer.py"})),
        result("c1", "def run(): ...", name="read"),
        assistant("", ("c2", "exec", {"command": "make test"}), ("c3", "exec", {"command": "sleep 9"})),  # r4
        result("c2", lines(400, needle="fatal error: truncated"), details={"exitCode": 2}),
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


def packed(session, which="latest", **options):
    """The pack of a compaction of ada's session; it fits its own format."""
    [asked] = compactions.find_compactions(session, which)
    return pack_builder.build_pack("ada", asked, **options)


def saved(session, which="latest", **options):
    """The sealed packs of what was asked for."""
    return [
        pack_builder.store_pack(asked, pack_builder.build_pack("ada", asked, **options))
        for asked in compactions.find_compactions(session, which)
    ]


def sealed_text(session, which="latest", **options):
    return pack_to_bytes(packed(session, which, **options)).decode()
