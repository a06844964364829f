"""Ids in addresses: whatever a transcript or a database calls something, its links lead to it and nowhere else."""

import re
from html import unescape
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from django.urls import resolve, reverse
from hypothesis import given
from hypothesis import strategies as st

from guardian.models import WriteGuardianAudit
from guardian.recording import write_store
from guardian.recording.reports import FileChange, Report, Source
from tests.factories import T0
from tests.guardian.runner.proposed import decided

PIECES = st.sampled_from([".", "..", "~.", "~~..", "...", "a", "~a", "", "%2e%2e", "\\", "é"])
NAMES = st.lists(PIECES, min_size=1, max_size=5).map("/".join).filter(bool)


def browsed(page, address):
    """Where a browser goes from a page: it takes `..` away together with what stands before it."""
    return urlsplit(urljoin(f"http://site{page}", address.replace("%2e", "."))).path


@given(NAMES)
def test_an_id_comes_back_out_of_its_address(name):
    address = reverse("guardian:audit_detail", args=["ada", name])
    assert browsed("/", address) == address
    assert resolve(browsed("/", reverse("guardian:rollback_do", args=["ada", name]))).url_name == "rollback_do"
    found = resolve(unquote(address))
    assert found.url_name != "audit_detail" or found.kwargs["audit_id"] == name


@pytest.mark.django_db
def test_a_button_of_a_hostile_write_leads_to_that_write(as_admin, ada):
    name = "../../../operations/users/stranger/deactivate"
    decided()
    facts = {"session_id": "s0", "turn_id": "s0:u", "target_file": "USER.md", "candidate_fact": "Likes tea."}
    row = WriteGuardianAudit(id=name, status="written", created_at=T0, **facts)
    write_store.store_reports("agent_ada", [Report(row, Source.API, FileChange(None, b"x\n"), body_sha256="1")])
    page = "/agents/ada/writes/"
    asked = re.search(r'hx-get="([^"]*write-verdicts[^"]*)"', as_admin.get(page).content.decode())[1]
    words = as_admin.get(unescape(asked)).content.decode()
    actions = {browsed(page, unescape(one)) for one in re.findall(r'action="([^"]+)"', words)}
    assert actions and all(resolve(unquote(one)).url_name == "write_judge" for one in actions)
    assert all(resolve(unquote(one)).kwargs["audit_id"] == name for one in actions)
    (link,) = re.findall(r'<a href="([^"]*deactivate[^"]*)"', as_admin.get(page).content.decode())
    assert as_admin.get(browsed(page, link)).status_code == 200
