"""Accepting an invitation, beyond what all one-time links have in common.

tests/people/test_one_time_link.py tests all links.
"""

import pytest

from people.accounts import invitations
from tests.operations.backups.backup_homes import run, start
from tests.people.sign_in_steps import USERS
from tests.people.test_one_time_link import CHOSEN


def test_somebody_who_is_signed_in_is_told(as_admin):
    path = invitations.invite("labeller", by="root", days=7)[1]
    assert "You are signed in as root" in as_admin.get(path).text
    as_admin.post(path, CHOSEN)
    assert as_admin.get(USERS).status_code == 403


ACCEPT = """
from openclaw_web.errors import Refused
from people.accounts import invitations
try:
    print("in", invitations.accept({secret!r}, username={name!r}, password="correct horse battery"))
except Refused as refused:
    print("out", refused)
"""
SHELL = ("shell", "--no-imports", "-c")


@pytest.mark.kill
def test_of_two_who_come_at_once_one_gets_it(tmp_path):
    home = tmp_path / "home"
    invite_one = "from people.accounts import invitations as i\nprint(i.invite('viewer', days=7, by='x')[1])"
    assert run(home, "jobs")[0] == 0  # makes the database
    secret = run(home, *SHELL, invite_one)[1].split("/")[2]
    both = [start(home, *SHELL, ACCEPT.format(secret=secret, name=name)) for name in ("first", "second")]
    answers = sorted(process.communicate()[0].split()[0] for process in both)
    assert answers == ["in", "out"]
    people = "from people.models import User\nprint(User.objects.count())"
    assert run(home, *SHELL, people)[1].strip() == "1"
