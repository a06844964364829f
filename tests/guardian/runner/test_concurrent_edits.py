"""Writes of an agent while a proposal is written: kept, and asked about.

They are treated as those during a rollback.
"""

import os

import pytest

from guardian.models import FileSnapshot
from guardian.rollbacks import concurrent_edits
from guardian.services import read_version_bytes
from problems.check_pass import check_all
from tests import faults
from tests.ledger.transcript_records import get_text

from .proposal_rows import DB, NEW, approve, create_proposal

pytestmark = pytest.mark.django_db


def test_it_is_asked_about(as_operator, ada, workspace, endpoint):
    proposal_run = create_proposal(ada, endpoint=endpoint)
    file = workspace / "USER.md"
    agent = os.open(file, os.O_WRONLY)
    with faults.before_file_event(
        "open", lambda path: path.endswith(".rollback"), lambda: os.pwrite(agent, b"late\n", 0)
    ):
        result = approve(ada, proposal_run)
    os.close(agent)
    assert file.read_text() == NEW
    (version_id,) = result.meanwhile
    assert read_version_bytes(FileSnapshot.objects.using(DB).get(id=version_id)).startswith(b"late\n")
    page = f"/agents/ada/writes/{result.audit_id}/"
    check_all()
    assert f'href="{page}"' in get_text(as_operator.get("/operations/"))
    assert "The file was changed while this site was writing to it" in get_text(as_operator.get(page))
    concurrent_edits.settle(ada, result.audit_id, version_id, by="otto", seen=None)
    assert concurrent_edits.find_unsettled_write(DB) is None
