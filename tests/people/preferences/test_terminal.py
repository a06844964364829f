"""The language of a terminal is that of its environment; programs read English."""

import pytest

from tests.operations.backups.backup_homes import run

pytestmark = pytest.mark.kill
BAD = ("create_user", "a b", "--role", "viewer")


@pytest.fixture
def run_in_language(migrated):
    """Runs a command on a terminal of some language; returns its status and outputs."""

    def run_command(*words, **variables):
        clean = dict.fromkeys(("LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"), "")
        return run(migrated, *words, **clean | variables)

    return run_command


@pytest.mark.parametrize(
    ("variables", "is_chinese"),
    [
        ({"LANG": "zh_CN.UTF-8"}, True),
        ({"LANG": "zh_CN"}, True),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, True),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, False),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, False),
        ({"LANG": "de_DE@euro"}, False),
        ({"LANG": "../../etc"}, False),
        ({}, False),
    ],
)
def test_it_is_that_of_the_environment(run_in_language, variables, is_chinese):
    status, _out, err = run_in_language(*BAD, **variables)
    assert status == 3
    # Django's own catalogue has this sentence, whatever is in ours.
    assert ("请输入" in err or "输入一个有效的用户名" in err) == is_chinese, err
    assert ("Enter a valid username" in err) != is_chinese


def test_receipts_are_the_same_in_every_language(run_in_language):
    for words in (
        (*BAD, "--json"),
        ("jobs", "--json"),
        ("settings", "list", "--json"),
        ("jobs", "cancel", "x", "--json"),
    ):
        chinese = run_in_language(*words, LANG="zh_CN.UTF-8")
        assert chinese == run_in_language(*words, LANG="C.UTF-8"), words
        assert chinese[1].isascii()
