"""What an agent writes while a proposal is written: kept, and asked about like what it writes during a rollback."""

import os

import pytest

from guardian.file_bytes import read_version_bytes
from guardian.models import FileSnapshot
from guardian.rollbacks import concurrent_edits
from problems.check_pass import check_all
from tests import faults
from tests.ledger.talks import text_of

from .proposed import DB, NEW, approve, proposal

pytestmark = pytest.mark.django_db


def test_it_is_asked_about(as_operator, ada, workspace, endpoint):
    one = proposal(ada, endpoint=endpoint)
    file = workspace / "USER.md"
    agent = os.open(file, os.O_WRONLY)
    with faults.before_file_event(
        "open", lambda path: path.endswith(".rollback"), lambda: os.pwrite(agent, b"late\n", 0)
    ):
        found = approve(ada, one)
    os.close(agent)
    assert file.read_text() == NEW
    (version_id,) = found.meanwhile
    assert read_version_bytes(FileSnapshot.objects.using(DB).get(id=version_id)).startswith(b"late\n")
    page = f"/agents/ada/writes/{found.audit_id}/"
    check_all()
    assert f'href="{page}"' in text_of(as_operator.get("/operations/"))
    assert "The file was changed while this site was writing to it" in text_of(as_operator.get(page))
    concurrent_edits.settle(ada, found.audit_id, version_id, by="otto", seen=None)
    assert concurrent_edits.find_unsettled_write(DB) is None
