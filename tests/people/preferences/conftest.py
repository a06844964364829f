"""A site with a small Chinese catalogue that does not depend on the real one."""

import struct

import pytest

from openclaw_web.pages import templates
from tests.conftest import BACKEND
from tests.factories import UserFactory

WORDS = {
    "Sign in": "登录",
    "Preferences": "偏好设置",
    "Preferences saved.": "偏好设置已保存。",
    "There is nothing at this address.": "此地址没有任何内容。",
    "just now": "刚刚",
    "Canceled by %(name)s.": "由 %(name)s 取消。",
    "This job has already ended (%(state)s): there is nothing to cancel.": "任务已结束。",
    "There is no OpenClaw folder at %(path)s. Choose another location.": "没有文件夹 %(path)s。",
}


def compile_catalogue(words):
    """Returns a catalogue as gettext reads it: two tables of lengths and offsets, then the texts."""
    words = {"": "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=1; plural=0;\n"} | words
    texts = [text.encode() for text in sorted(words)]
    texts += [words[text.decode()].encode() for text in texts]
    tables, data = b"", b""
    for text in texts:
        tables += struct.pack("<2I", len(text), 28 + 8 * len(texts) + len(data))
        data += text + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, len(words), 28, 28 + 8 * len(words), 0, 0) + tables + data


@pytest.fixture
def chinese(tmp_path, settings):
    """Replaces the catalogue by the words above."""
    place = tmp_path / "locale" / "zh_Hans" / "LC_MESSAGES"
    place.mkdir(parents=True)
    (place / "django.mo").write_bytes(compile_catalogue(WORDS))
    settings.LOCALE_PATHS = [tmp_path / "locale"]
    templates._translate.cache_clear()
    yield WORDS
    templates._translate.cache_clear()


@pytest.fixture
def mei(db):
    """A user whose account has Chinese, India's time zone and the dark theme."""
    return UserFactory(username="mei", role="operator", language="zh-hans", time_zone="Asia/Kolkata", theme="dark")


@pytest.fixture
def as_mei(client, mei):
    client.force_login(mei, backend=BACKEND)
    return client
