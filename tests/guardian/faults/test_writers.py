"""Rollbacks of a file that an agent keeps writing lose none of its versions.

The agent writes in place, or renames a new file over the old one.
"""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests import processes
from tests.guardian.faults.process_kills import SWITCHED_OFF, open_site

pytestmark = pytest.mark.kill
# Of both kinds of writers together; more on request.
ROLLBACKS = int(os.environ.get("ROLLBACKS", "100" if processes.KILLS == 1 else "1000"))
WITHOUT_THE_CALL = ROLLBACKS // 5  # the same
# Writes unique contents, and notes each that a rollback has taken out before the next write. Half of the pauses are
# about 5 ms, the others about 100 ms and of any length: however slow a machine is, a rollback fits into some of them.
WRITER = """
import os, random, sys, time
file, how, noted = sys.argv[1:]
number, last = 0, None
with open(noted, "w") as notes:
    while True:
        number += 1
        text = f"{how} {number}\\n"
        held = ""
        if how == "renamed":
            try:
                with open(file) as now:
                    held = now.read()
            except FileNotFoundError:
                pass
            with open(file + ".agent", "w") as draft:
                draft.write(text)
            os.rename(file + ".agent", file)
        else:
            with open(os.open(file, os.O_RDWR | os.O_CREAT, 0o644), "r+") as now:
                held = now.read()
                now.seek(0)
                now.truncate()
                now.write(text)
        if last is not None and held != last:
            print(last, end="", file=notes, flush=True)
        last = text
        time.sleep(random.expovariate(random.choice((200, 10))))
"""
WORK = """
import sys
from agents.models import Agent
from guardian.models import WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import FileChange, Report, Source
from guardian.rollbacks import apply, service
from openclaw_web import clock
apply.LOOKS = (0.0, 0.05)
main = Agent.objects.get()
REQUEST = service.RollbackRequest("otto", "test", keeps_copy=False)
done = refused = found = 0
while done < {rollbacks}:
    row = WriteGuardianAudit(id=f"{name}-{{done}}-{{refused}}", session_id="s", target_file="MEMORY.md",
                             candidate_fact="x", status="written", created_at=clock.now_ms())
    told = FileChange(b"before %d\\n" % done, b"after %d %d\\n" % (done, refused))
    write_store.store_reports(main.db, [Report(row, Source.API, told, body_sha256="1")])
    try:
        result = service.roll_back(main, row.id, REQUEST, seen=None, chosen=b"chosen %d\\n" % done)
    except apply.FileChanged:
        refused += 1
    else:
        done += 1
        found += len(result.meanwhile)
print(f"done:{{done}},refused:{{refused}},met-a-writer:{{found}}")
"""


@pytest.fixture
def site(tmp_path, migrated):
    with open_site(tmp_path, migrated) as site:
        site.file = site.folder / "MEMORY.md"
        site.file.write_text("first\n")
        yield site


@pytest.mark.parametrize(("before", "count"), [("", ROLLBACKS // 2), (SWITCHED_OFF, WITHOUT_THE_CALL // 2)])
@pytest.mark.parametrize("how", ["renamed", "in-place"])
def test_every_version_that_a_rollback_displaced_is_in_place_or_kept(site, tmp_path, how, before, count):
    noted = tmp_path / "noted"
    code = f"{before}\n{WORK.format(rollbacks=count, name=how)}"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(site.file), how, str(noted)])
    try:
        output = site.python(code, seconds=processes.HANG + ROLLBACKS)
    finally:
        writer.kill()
        writer.wait()
    assert output.startswith(f"done:{count},")
    with closing(sqlite3.connect(site.path / "agents" / "main" / "agent" / "openclaw-agent.sqlite")) as store:
        stored_texts = {row[0] for row in store.execute("SELECT content FROM file_snapshots")}
    displaced = noted.read_text().splitlines(keepends=True)
    lost = [text for text in displaced if text not in stored_texts and text != site.file.read_text()]
    assert len(displaced) > count // 10
    assert lost == []
    assert [path.name for path in site.file.parent.iterdir() if "rollback" in path.name] == []
