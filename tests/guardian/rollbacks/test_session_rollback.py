"""Rolling back all writes of a session on a page: previewed as one, all or nothing."""

import re

import pytest
from django.urls import reverse

from guardian.models import WriteGuardianAudit
from tests.guardian.write_rows import create_write

DB = "agent_ada"
pytestmark = pytest.mark.django_db


def page(name):
    return reverse(f"guardian:{name}", args=["ada", "s1"])


def test_a_session_whole(as_operator, file):
    create_write(DB, 1, b"a\n", b"a\nb\n")
    create_write(DB, 2, b"a\nb\n", b"a\nb\nc\n")
    file.write_bytes(b"a\nb\nc\n")
    words = as_operator.get(page("session_rollback")).content.decode()
    (hash_,) = re.findall(r'name="seen-MEMORY.md" value="(\w+)"', words)
    sent = {"reason": "All wrong.", "seen-MEMORY.md": hash_}
    assert as_operator.post(page("session_rollback_do"), sent | {"seen-MEMORY.md": "0"}).status_code == 422
    assert "Roll back 2 writes" in words
    done = as_operator.post(page("session_rollback_do"), sent)
    assert (done.status_code, done["Location"]) == (302, "/agents/ada/writes/?session=%3Ds1")
    rows = WriteGuardianAudit.objects.using(DB).filter(id__in=["w1", "w2"])
    assert file.read_bytes() == b"a\n" and {row.status for row in rows} == {"rolled_back"}


def test_a_conflict_leaves_all_of_it(as_operator, file):
    create_write(DB, 1, b"a\n", b"b\n")
    create_write(DB, 2, None, b"tea\n", target_file="USER.md")
    file.write_bytes(b"mine\n")
    (file.parent / "USER.md").write_bytes(b"tea\n")
    words = as_operator.get(page("session_rollback")).content.decode()
    assert "Roll these writes back one by one" in words and 'name="reason"' not in words
    sent = {
        "reason": "All wrong.",
        **{f"seen-{k}": v for k, v in re.findall(r'name="seen-(.+?)" value="(\w+)"', words)},
    }
    assert as_operator.post(page("session_rollback_do"), sent).status_code == 422
    assert file.read_bytes() == b"mine\n" and (file.parent / "USER.md").read_bytes() == b"tea\n"
