"""Writes, and the lines of all files of workspaces, as texts of the search.

A text of a version is what it has and the version before it had not: so that each line is found once, where it came in.
"""

from django.urls import reverse

from ledger import consent
from openclaw_web.diffs.line_diff import split_lines
from search.sources import Item
from search.table_source import TableSource

from .models import FileSnapshot, WorkspaceFile, WriteGuardianAudit

COLUMNS = ("candidate_fact", "reason", "created_at", "status", "target_file", "turn_id", "llm_model")
OF_VERSION = ("file_name", "content", "created_at", "content_hash")


def _build_writes(db, rows, is_hit):
    hidden = consent.find_withheld_keys(db, [row["turn_id"] for row in rows])
    agent_id, items = db.removeprefix("agent_"), []
    for row in rows:
        if row["turn_id"] in hidden:
            continue
        fields = {"fact": "\n".join(filter(None, (row["candidate_fact"], row["reason"])))}
        item = Item(row["id"], row["created_at"], "fact", fields)
        if is_hit:
            item.title, item.facts = f"{row['target_file'] or ''} {row['status']}", {"model": row["llm_model"]}
            item.href = reverse("guardian:audit_detail", args=[agent_id, row["id"]])
        items.append(item)
    return items


def _build_versions(model, kind):
    def build(db, rows, is_hit):
        names, before, newest = {row["file_name"] for row in rows}, {}, {}
        versions = model.objects.using(db).filter(file_name__in=names)
        for name, version_id in versions.order_by("created_at", "id").values_list("file_name", "id"):
            before[version_id], newest[name] = newest.get(name), version_id
        needed = {before.get(row["id"]) for row in rows} | set(newest.values() if is_hit else ())
        contents = dict(versions.filter(id__in=needed - {None}).values_list("id", "content"))
        lines = {version_id: set(split_lines(content)) for version_id, content in contents.items()}
        ids = [row["id"] for row in rows] if is_hit and kind == "memory" else []
        writes = {
            write.after_snapshot_id: write
            for write in WriteGuardianAudit.objects.using(db).filter(after_snapshot__in=ids)
        }
        items = []
        for row in rows:
            earlier = lines.get(before.get(row["id"]), ())
            own = [line for line in split_lines(row["content"]) if line not in earlier]
            item = Item(row["id"], row["created_at"], kind, {kind: "".join(own)}, row["file_name"])
            if is_hit:
                write = writes.get(row["id"])
                item.facts = {
                    "lines": own,
                    "standing": lines[newest[row["file_name"]]],
                    "write": write and write.get_absolute_url(),
                }
                item.href = reverse("guardian:file_detail", args=[db.removeprefix("agent_"), row["file_name"]])
            items.append(item)
        return items

    return build


WRITES = TableSource("write", WriteGuardianAudit, COLUMNS, _build_writes)
MEMORY_LINES = TableSource("memory", FileSnapshot, OF_VERSION, _build_versions(FileSnapshot, "memory"), at_once=20)
FILE_LINES = TableSource("file", WorkspaceFile, OF_VERSION, _build_versions(WorkspaceFile, "file"), at_once=20)
