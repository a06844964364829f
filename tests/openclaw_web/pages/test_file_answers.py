"""Files of exports: cached by ETag, and sent in parts."""

import hashlib

import pytest

from tests.openclaw_web.pages.test_downloads import create_export

pytestmark = pytest.mark.django_db
DATA = b'{"n": 1}\n' * 100
ADDRESS = "/api/v1/exports/e1/files/train.json"


@pytest.fixture
def ready(settings, tmp_path):
    settings.HOME_DIR = tmp_path
    return create_export(tmp_path, DATA)


def get(client, **headers):
    response = client.get(ADDRESS, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response.data = response.getvalue()
    return response


def test_it_works(as_admin, ready):
    response = get(as_admin)
    assert response.data == DATA
    assert response["ETag"] == f'"{hashlib.sha256(DATA).hexdigest()}"' and response["Accept-Ranges"] == "bytes"
    again = get(as_admin, If_None_Match=response["ETag"])
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("byte_range", "part", "content_range"),
    [
        ("bytes=0-9", DATA[:10], "bytes 0-9/900"),
        ("bytes=890-", DATA[890:], "bytes 890-899/900"),
        ("bytes=-5", DATA[-5:], "bytes 895-899/900"),
        ("bytes=-5000", DATA, "bytes 0-899/900"),
        ("bytes=5-999999999999999999", DATA[5:], "bytes 5-899/900"),
    ],
)
def test_a_part(as_admin, ready, byte_range, part, content_range):
    response = get(as_admin, Range=byte_range)
    assert (response.status_code, response["Content-Range"]) == (206, content_range)
    assert (response.data, int(response["Content-Length"])) == (part, len(part))


@pytest.mark.parametrize("byte_range", ["bytes=900-", "bytes=9-3", "bytes=-0"])
def test_a_part_that_is_not_there(as_admin, ready, byte_range):
    response = get(as_admin, Range=byte_range)
    assert (response.status_code, response["Content-Range"]) == (416, "bytes */900")


@pytest.mark.parametrize("byte_range", ["bytes=-", "bytes=0-1,5-9", "lines=1-2", "junk", "bytes=²-3"])
def test_what_is_no_part_is_the_whole(as_admin, ready, byte_range):
    assert get(as_admin, Range=byte_range).data == DATA


def test_a_part_of_another_version_is_the_whole(as_admin, ready):
    assert get(as_admin, Range="bytes=0-9", If_Range='"other"').status_code == 200
    assert get(as_admin, Range="bytes=0-9", If_Range=get(as_admin)["ETag"]).status_code == 206
