"""Downloads give the requested file and no other, whatever the address contains."""

import hashlib
import json
import re

import pytest

from tests.factories import ExportFactory

pytestmark = pytest.mark.django_db
TRICKS = (
    *("..", ".", "../secret.key", "..%2fsecret.key", "%2e%2e/secret.key", "%2e%2e%2fsecret.key"),
    *("%252e%252e%252fsecret.key", "..%5csecret.key", "%2fetc%2fpasswd", "/etc/passwd", "%00", "train.json%00.txt"),
    *(".hidden", "TRAIN.JSON", "train.json/", "train.json%20", "train.json%0d%0aX-Evil:1", "link.json", "a" * 5000),
    *("%ff%fe", "\u202enosj.niart"),
)


def create_export(home, data=b"[]"):
    """Stores a ready export e1 with the file train.json in a home; returns its folder."""
    folder = home / "exports" / "e1"
    folder.mkdir(parents=True)
    (folder / "train.json").write_bytes(data)
    files = [{"name": "train.json", "bytes": len(data), "rows": 0, "sha256": hashlib.sha256(data).hexdigest()}]
    manifest = json.dumps({"files": files, "checksums": "SHA256SUMS", "counts": {}})
    ExportFactory(id="e1", state="ready", manifest_json=manifest, file_path="exports/e1")
    return folder


@pytest.fixture
def export(settings, tmp_path):
    """A ready export of one file, beside files that nobody may download."""
    settings.HOME_DIR = tmp_path
    folder = create_export(tmp_path)
    (tmp_path / "secret.key").write_text("the key")
    (folder / ".hidden").write_text("hidden")
    (folder / "link.json").symlink_to(tmp_path / "secret.key")


def test_the_file_itself_is_there(as_admin, export):
    response = as_admin.get("/exports/e1/files/train.json")
    assert b"".join(response.streaming_content) == b"[]"
    assert response["Content-Disposition"] == 'attachment; filename="train.json"'


@pytest.mark.parametrize("prefix", ["/exports/", "/api/v1/exports/"])
@pytest.mark.parametrize("name", TRICKS)
def test_nothing_else_is(as_admin, export, prefix, name):
    for address in (f"{prefix}e1/files/{name}", f"{prefix}{name}/files/train.json"):
        response = as_admin.get(address)
        assert response.status_code in (301, 404), address
        assert not response.has_header("X-Evil")


@pytest.mark.parametrize("operator", ["=", "+", "@"])
def test_a_list_as_a_file_has_our_name(as_admin, operator):
    response = as_admin.get("/operations/audit/", {"format": "csv", "actor": f'{operator}"\r\nX-Evil: 1'})
    assert re.fullmatch(r'attachment; filename="audit[\d-]*\.csv"', response["Content-Disposition"])
    assert not response.has_header("X-Evil")
