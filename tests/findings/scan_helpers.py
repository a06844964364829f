"""Texts with findings for tests, and what the store holds of them."""

from findings import scan
from findings.models import Finding
from tests.collecting.collect_runs import MAIN
from tests.homes import assistant, result, user

MAIL, OTHER_MAIL = "mei.tanaka@hanamail.jp", "otto.brandt@bahnpost.de"
KEY = "sk-ant-api03-Zk3vQ9xTr7LmWp2YbN8cHd5JfGs1Ae6Uo4Ri0KtXwVq"


def write_mails(home, count=3, *, session=None, agent="main", mail=MAIL):
    """Write a transcript of turns with an address in a message, a call and a result."""
    script = home.transcript(session=session, agent=agent)
    for turn in range(count):
        call = f"c{turn}"
        script.add(user(f"Write to {mail} about {turn}"), assistant("I look", (call, "mail", {"to": mail})))
        script.add(result(call, f"sent to {mail}"), assistant(f"Done {turn}"))
    return script


def list_places(db=MAIN, **columns):
    """Return source, id and path of the stored findings, in order."""
    rows = Finding.objects.using(db).filter(**columns).order_by("source", "source_id", "path", "start")
    return list(rows.values_list("source", "source_id", "path"))


def scan_everything(db=MAIN):
    """Scan, and check that nothing is left; return the result."""
    result = scan.scan_agent(db)
    assert (result.remaining, scan.count_unscanned(db)) == (0, 0)
    return result
