"""Ten memory writes in three sessions, then rollbacks and corrections, over HTTP on `serve`."""

import json
import shutil
import stat
import time
import urllib.error
import urllib.request

import pytest

from tests.collecting.test_collect_real_homes import HOMES
from tests.guardian.runner.test_guardian_kill import model
from tests.llm_endpoint import Endpoint
from tests.processes import Home

pytestmark = [
    pytest.mark.kill,
    pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine"),
]
TOKEN = """
from people.accounts import services, tokens
services.add_user("otto", "operator")
print(tokens.make_token_for("otto", name="story", role="operator", days=1)[1])
"""
SET = """
from people.configuration import setting_values as configuration
configuration.put_all({"writeGuardian.enabled": True, "llm.model": "small"})
print("set")
"""
HERON = "- The staging server is called heron.\n"
BACKUPS, LATER = "- Backups run at 02:00.\n", "- Backups run at 03:00.\n"
LISBON = "- The user moves to Lisbon in May.\n"
WIFI, STANDUP = "- The wifi password is on the fridge.\n", "- The standup is at 09:30.\n"
BRIEF, CAT = "- Prefers short answers.\n", "- The cat is called Miso.\n"
VPN, SEARCH = "- `make deploy` needs the VPN.\n", "- Search with ripgrep.\n"
DEPLOYS = "- Deploys are on Thursdays.\n"
WHY = "Where passwords are is no memory."


class Story:
    """The site, a writable workspace, and a plugin that writes and reports its writes."""

    def __init__(self, folder, endpoint):
        self.source = shutil.copytree(HOMES / "openclaw-2026.2.26", folder.resolve() / "openclaw")
        for path in (self.source, *self.source.rglob("*")):  # the recording itself may be read-only
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
        self.workspace = self.source / "workspace"
        config = self.source / "openclaw.json"
        config.write_text(config.read_text().replace("/srv/oc/home-old/.openclaw", str(self.source)))
        self.home = Home(folder / "home")
        self.home.env |= {"OPENCLAW_WEB_WORKSPACE_WRITES": "1", "OPENCLAW_WEB_LLM_URL": endpoint.url}
        self.collect()
        self.token = self.home.python(TOKEN)
        self.home.python(SET)
        self.address = self.home.serve("--no-watch").address()
        self.count = 0

    def collect(self):
        process = self.home.start("collect", "--source", str(self.source), "--quiet")
        assert process.end() == 0, process.said

    def ask(self, path, body=None):
        """Call the API about the agent main; return the parsed answer."""
        request = urllib.request.Request(f"{self.address}/api/v1/agents/main/{path}")
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, None if body is None else json.dumps(body).encode()) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            pytest.fail(f"{path}: {refused.read().decode()}")

    def turns(self):
        """The last turn of each session: (session, turn)."""
        last_turns = {}
        for turn in self.ask("turns?limit=100")["items"]:
            last_turns.setdefault(turn["session_id"], turn["id"])
        return list(last_turns.items())

    def read(self, name):
        return (self.workspace / name).read_bytes()

    def write(self, place, name, old, new, fact=""):
        """Replace a text of a file, report the write as the plugin does; return its id.

        An empty `old` adds `new` to the end of the file.
        """
        session, turn = place
        before = self.read(name).decode()
        after = before.replace(old, new) if old else before + new
        time.sleep(0.05)
        (self.workspace / name).write_bytes(after.encode())
        self.count += 1
        about = {"id": f"w{self.count}", "session_id": session, "turn_id": turn, "target_file": name}
        about |= {"candidate_fact": fact or new.strip("- \n"), "status": "written", "llm_model": "plugin-model"}
        about |= {"created_at": round(time.time() * 1000), "before": before, "after": after}
        assert self.ask("guardian/writes", {"writes": [about]})["recorded"] == [about["id"]]
        return about["id"]

    def roll_back(self, path, reason):
        """Preview a rollback, then do it with the hashes of the preview, as the page does."""
        plan = self.ask(f"{path}/rollback")
        seen = plan["hashes"] if "hashes" in plan else plan["seen"]
        assert not plan["conflicts"] and not plan["problem"], plan
        return plan, self.ask(f"{path}/rollback", {"reason": reason, "seen": seen})

    def blame(self, name):
        """{line: id of the write that added it} of a file."""
        lines = self.read(name).decode().splitlines(keepends=True)
        runs = self.ask(f"guardian/files/{name}/blame")["runs"]
        write_ids = {}
        for run in runs:
            if run["known"] == "write":
                write_ids |= {lines[number - 1]: run["audit_id"] for number in range(run["first"], run["last"] + 1)}
        return write_ids

    def decide(self, place, fact):
        """Report a decision of memory_gate to write a fact to MEMORY.md, without a write."""
        session, turn = place
        about = {"id": f"d-{len(fact)}", "session_id": session, "turn_id": turn, "decision": "UPDATE_MEMORY"}
        about |= {"reason": "Lasting.", "candidate_fact": fact, "llm_model": "gate-model"}
        decision = about | {"created_at": round(time.time() * 1000)}
        assert self.ask("gate/decisions", {"decisions": [decision]})["recorded"]

    def run_guardian(self):
        process = self.home.start("reflection", "guardian", "run", "--yes", "--quiet")
        assert process.end() == 0, process.said


@pytest.fixture
def story(tmp_path):
    with Endpoint(model) as endpoint:
        story = Story(tmp_path, endpoint)
        yield story, endpoint
        story.home.close()


def write_ten(story, first, second, third):
    """Make ten writes in three sessions; return their ids by text."""
    w = story.write
    ids = {HERON: w(first, "MEMORY.md", "", HERON), BRIEF: w(first, "USER.md", "", BRIEF)}
    ids |= {BACKUPS: w(first, "MEMORY.md", "", BACKUPS), LISBON: w(second, "MEMORY.md", "", LISBON)}
    ids |= {VPN: w(second, "TOOLS.md", "", VPN), LATER: w(second, "MEMORY.md", BACKUPS, LATER)}
    ids |= {CAT: w(second, "USER.md", "", CAT), WIFI: w(third, "MEMORY.md", "", WIFI)}
    ids |= {STANDUP: w(third, "MEMORY.md", "", STANDUP), SEARCH: w(third, "TOOLS.md", "", SEARCH)}
    assert len(ids) == story.count == 10
    assert story.blame("MEMORY.md") == {line: ids[line] for line in (HERON, LATER, LISBON, WIFI, STANDUP)}
    return ids


def undo(story, before, ids, session):
    """Roll back a write, a write beneath later changes, and a whole session."""
    held = story.read("TOOLS.md")
    plan, done = story.roll_back(f"guardian/writes/{ids[SEARCH]}", "The house uses grep.")
    assert (plan["way"], done["success"]) == ("exact", True)
    assert story.read("TOOLS.md") == held.removesuffix(SEARCH.encode()) == before["TOOLS.md"] + VPN.encode()
    plan, done = story.roll_back(f"guardian/writes/{ids[HERON]}", "Heron is switched off.")
    assert (plan["way"], plan["has_changed"], done["restoredTo"]) == ("merged", True, "merged")
    assert story.read("MEMORY.md") == before["MEMORY.md"] + f"{LATER}{LISBON}{WIFI}{STANDUP}".encode()
    plan, done = story.roll_back(f"guardian/sessions/{session}", "Somebody else was at the keyboard.")
    assert len(done["rollbacks"]) == len(plan["audit_ids"]) == 4
    assert story.read("MEMORY.md") == before["MEMORY.md"] + f"{BACKUPS}{WIFI}{STANDUP}".encode()
    assert story.read("TOOLS.md") == before["TOOLS.md"]
    assert story.read("USER.md") == before["USER.md"] + BRIEF.encode()
    assert story.blame("MEMORY.md") == {line: ids[line] for line in (BACKUPS, WIFI, STANDUP)}
    assert story.blame("USER.md") == {BRIEF: ids[BRIEF]}


def teach(story, endpoint, wifi, fourth, fifth):
    """Correct a write with a rule; our guardian follows it and proposes another write."""
    correction = {"status": "refused", "reason": WHY, "apply_to_future": True, "pattern": r"\bpassword\b"}
    rule = story.ask(f"guardian/writes/{wifi}/correction", correction)
    query = {"fact": "The guest wifi password is guests2026.", "file": "MEMORY.md"}
    checked = story.ask("guardian/rules/check", query)
    assert (checked["status"], checked["rule_id"], checked["reason"]) == ("refused", rule["id"], WHY)
    story.decide(fourth, query["fact"])
    story.decide(fifth, DEPLOYS.strip("- \n"))
    story.run_guardian()
    refused = story.ask("guardian/writes?origin=own&status=refused")["items"]
    assert [(row["candidate_fact"], row["rule_id"]) for row in refused] == [(query["fact"], rule["id"])]
    assert endpoint.requests and not any(b"guests2026" in request.body for request in endpoint.requests)
    (proposal,) = story.ask("guardian/proposals")["items"]
    seen = story.ask(f"guardian/proposals/{proposal['id']}")["seen"]
    own = story.ask(f"guardian/proposals/{proposal['id']}/approve", {"seen": seen})["audit_id"]
    assert story.blame("MEMORY.md")[DEPLOYS] == own
    return rule["id"], own


def test_a_memory_is_written_undone_and_taught(story):
    story, endpoint = story
    first, second, third, fourth, fifth, *_others = story.turns()
    before = {name: story.read(name) for name in ("MEMORY.md", "USER.md", "TOOLS.md")}
    ids = write_ten(story, first, second, third)
    undo(story, before, ids, second[0])
    rule, own = teach(story, endpoint, ids[WIFI], fourth, fifth)

    # The plugin does not ask: its write is there, flagged, and one step from being undone.
    door = story.write(third, "MEMORY.md", "", "- The door password is 4711.\n")
    flagged = story.ask("guardian/writes?flagged=true&origin=recorded")["items"]
    assert [(row["id"], row["status"], row["rule_id"]) for row in flagged] == [(door, "written", rule)]
    assert story.roll_back(f"guardian/writes/{door}", WHY)[0]["way"] == "exact"
    story.roll_back(f"guardian/writes/{ids[WIFI]}", WHY)
    assert story.read("MEMORY.md") == before["MEMORY.md"] + f"{BACKUPS}{STANDUP}{DEPLOYS}".encode()

    # The next import finds no unreported write, and blame leads from a line to its message.
    story.collect()
    assert story.ask("guardian/writes?origin=unattributed")["items"] == []
    assert story.blame("MEMORY.md") == {BACKUPS: ids[BACKUPS], STANDUP: ids[STANDUP], DEPLOYS: own}
    runs = story.ask("guardian/files/MEMORY.md/blame")["runs"]
    assert f"{third[0]}:{next(run['message_id'] for run in runs if run['audit_id'] == ids[STANDUP])}" == third[1]
    statuses = {row["id"]: row["status"] for row in story.ask("guardian/writes?origin=recorded")["items"]}
    undone = {ids[line] for line in (HERON, LISBON, VPN, LATER, CAT, WIFI, SEARCH)} | {door}
    assert {name for name, status in statuses.items() if status == "rolled_back"} == undone
