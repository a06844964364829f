"""Downloads of whole contents: verified first, never run by a browser, flagged ones for admins.

No byte is sent before the content is verified, and no browser shows it as a page.
"""

import tracemalloc

import orjson
import pytest

from artifacts import services
from artifacts.errors import DamagedArtifact
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.artifacts.test_artifact_detail import DB, HOSTILE, build_page_address, build_path, stash

pytestmark = pytest.mark.django_db
SECRET = "password: hunter2\n"


@pytest.fixture(params=["page", "api"])
def address(request):
    """The address of a download, on the site and in the API."""
    return {
        "page": lambda row: f"{build_page_address(row)}download/",
        "api": lambda row: f"/api/v1/agents/ada/artifacts/{row.handle}/content",
    }[request.param]


def entries(action):
    return [
        (entry.actor, entry.object_type, entry.object_id, entry.agent_id)
        for entry in AuditEntry.objects.filter(action=action)
    ]


@pytest.mark.parametrize("is_compressed", [False, True])
def test_it_works(client, address, is_compressed):
    row = stash("one\ntwo\n", is_compressed=is_compressed)
    response = client.get(address(row))
    assert response.getvalue() == b"one\ntwo\n"
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Disposition": f'attachment; filename="artifact-{row.sha256[:12]}.txt"',
        "Content-Length": "8",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
    assert {name: response[name] for name in headers} == headers
    assert not response.has_header("Content-Encoding")
    assert entries("downloaded") == [("stranger", "artifact", row.handle, "ada")]


@pytest.mark.parametrize("content", HOSTILE)
def test_no_browser_runs_or_shows_it(client, address, content):
    row = stash(content)
    response = client.get(address(row), headers={"Accept-Encoding": "gzip"})
    assert response.getvalue() == (content if isinstance(content, bytes) else content.encode())
    assert response["Content-Type"] in ("text/plain; charset=utf-8", "application/octet-stream")
    assert response["Content-Disposition"].startswith("attachment; ")
    assert response["Content-Disposition"].rpartition(".")[2][:-1] in ("txt", "json", "bin", "png", "pdf")
    assert response["Content-Security-Policy"] == "sandbox; default-src 'none'"


def test_flagged_ones_are_for_admins(client, address, boss):
    row = stash(SECRET)
    for _ in range(2):
        refused = client.get(address(row))
        assert refused.status_code == 403
        assert "may contain secrets: Password (the word). Only admins" in refused.content.decode()
        assert "hunter2" not in refused.content.decode()
    assert entries("download_refused") == [("stranger", "artifact", row.handle, "ada")] * 2
    assert entries("downloaded") == []
    for _ in range(2):
        assert boss.get(address(row)).getvalue() == SECRET.encode()
    assert entries("downloaded") == [("root", "artifact", row.handle, "ada")] * 2


def test_an_operator_says_what_is_flagged(client, address):
    row = stash(SECRET)
    configuration.put("artifacts.flaggedKinds", ["token"])
    assert client.get(address(row)).status_code == 200


def test_what_is_gone_or_damaged_is_not_sent(client, address):
    row = stash("a good content")
    build_path(row).write_text("an evil content")
    assert client.get(address(row)).status_code == 409
    build_path(row).write_text("a ghod content")
    damaged = client.get(address(row))
    assert damaged.status_code == 409
    assert b"ghod" not in damaged.content
    build_path(row).unlink()
    assert client.get(address(row)).status_code == 410
    assert entries("downloaded") == []


def test_a_change_while_it_is_sent_breaks_it_off(client):
    content = bytes(range(256)) * 8192  # two chunks
    row = stash(content)
    response = client.get(f"{build_page_address(row)}download/")
    with build_path(row).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    sent = []
    with pytest.raises(DamagedArtifact):
        sent.extend(response.streaming_content)
    response.close()
    assert len(b"".join(sent)) < len(content)


def test_memory_is_flat(client):
    row = services.stash(DB, b"0123456789abcdef" * 2_000_000, is_compressed=True)[0]
    tracemalloc.start()
    sizes = sum(map(len, client.get(f"{build_page_address(row)}download/").streaming_content))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sizes == 32_000_000
    assert peak < 8_000_000


def test_a_head_is_no_download(client):
    row = stash("x")
    assert client.head(f"{build_page_address(row)}download/")["Content-Length"] == "1"
    assert entries("downloaded") == []


def test_what_was_refused_says_why_in_the_log(client):
    client.get(f"{build_page_address(stash(SECRET))}download/")
    assert orjson.loads(AuditEntry.objects.get(action="download_refused").detail_json) == {"kinds": "password"}
