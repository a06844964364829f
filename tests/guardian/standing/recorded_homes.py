"""Homes of OpenClaw with workspaces, provenance records of memory files and reports of prompts."""

import hashlib
import json

from tests.homes import user
from tests.sqlite_homes import CANARY, T0, SqliteHome

PROVENANCE, NAMESPACE = "core:memory-artifact-provenance", "workspace-files"
DDL = """CREATE TABLE IF NOT EXISTS plugin_state_entries (plugin_id TEXT NOT NULL, namespace TEXT NOT NULL,
  entry_key TEXT NOT NULL, value_json TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER,
  PRIMARY KEY (plugin_id, namespace, entry_key)) STRICT"""


def sha(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


class RecordedHome(SqliteHome):
    """A home whose agents have a workspace each; paths in records are those of another machine."""

    def __init__(self, root, agents=("main",)):
        super().__init__(root, agents)
        entries = {agent: {"workspace": str(self.workspace(agent))} for agent in agents}
        self.write("openclaw.json", {"agents": {"entries": entries}, "apiKey": "sk-fake-canary"})
        for agent in agents:
            self.workspace(agent).mkdir()

    def workspace(self, agent="main"):
        return self.root / f"workspace-{agent}"

    def elsewhere(self, agent="main"):
        """Return the path of the workspace on the machine that runs OpenClaw."""
        return f"/srv/claw/workspace-{agent}"

    def file(self, name, data, agent="main"):
        path = self.workspace(agent) / name
        path.parent.mkdir(exist_ok=True)
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def record(self, name, data, origin="agent", *, agent="main", at=T0, session="w1", **fields):
        """Store the record of a file, with the hash of `data`; `fields` replace its values."""
        key = f"{sha(self.elsewhere(agent))}:{sha(name)}"
        value = {"version": 1, "workspaceKey": sha(self.elsewhere(agent)), "relativePath": name}
        value |= {"fileHash": sha(data), "originClass": origin, "observedAt": at, "sessionId": session}
        value |= {"sessionKey": f"agent:{agent}:{session}", "reservationId": "r"} | fields
        return self.entry(key, json.dumps(value))

    def entry(self, key, value, plugin=PROVENANCE, namespace=NAMESPACE, expires_at=None):
        """A row of the state of plugins."""
        with self.state() as store:
            store.execute(DDL)
            sql = "INSERT OR REPLACE INTO plugin_state_entries VALUES (?, ?, ?, ?, ?, ?)"
            store.execute(sql, (plugin, namespace, key, value, T0, expires_at))
        return self

    def secret(self):
        """Rows of other plugins, which nobody here may read."""
        self.entry("k", json.dumps({"token": CANARY}), plugin="some-channel")
        return self.entry("k", json.dumps({"token": CANARY}), namespace="other")

    def forget(self, name, agent="main"):
        """Remove the record of a file, as after the agent deleted the file."""
        with self.state() as store:
            sql = "DELETE FROM plugin_state_entries WHERE entry_key LIKE '%:' || ?"
            store.execute(sql, (sha(name),))

    def prompt(self, files, *, agent="main", at=T0 + 1_000, session="p1", key=None, **report):
        """A session with a report: `files` are (name, raw, injected) or whole entries."""
        listed = [
            _build_entry("AGENTS.md", 10, 10),
            *(file if isinstance(file, dict) else _build_entry(*file) for file in files),
        ]
        report = {"generatedAt": at, "workspaceDir": self.elsewhere(agent), "injectedWorkspaceFiles": listed} | report
        key = key or f"agent:{agent}:{session}"
        return self.session(session, user("Hi"), agent=agent, key=key, systemPromptReport=report)


def _build_entry(name, raw, injected, **more):
    return {"name": name, "rawChars": raw, "injectedChars": injected, "truncated": raw > injected} | more
