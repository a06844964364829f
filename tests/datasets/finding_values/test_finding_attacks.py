"""Values reach no log, address, job or global table, and nothing in them becomes HTML."""

import logging

import orjson
import pytest
from django.db import connections

from agents.models import Agent
from datasets.finding_values import value_list
from datasets.models import FindingValue, FindingVerdict
from findings.models import Finding
from findings.value_hash import compute_value_hash
from jobs import services as jobs
from tests.collecting.collect_runs import MAIN, run
from tests.findings.scan_helpers import KEY
from tests.homes import assistant, user

MAIL = "planted.canary@hanamail.jp"
MAIL_HASH = compute_value_hash("email", MAIL)
SCRIPT, PICTURE = "<script>alert(1)</script>", "<img src=x onerror=alert(2)>"
pytestmark = pytest.mark.django_db


@pytest.fixture
def planted(home):
    """An address and a key between HTML, in a text and behind a key of arguments."""
    call = ("c1", "mail", {PICTURE: MAIL, "../../etc/hosts": f"{SCRIPT} {MAIL} {PICTURE}"})
    home.transcript(
        user("Hello"), assistant("Hi"), user(f"{SCRIPT} {MAIL} {PICTURE} the key is {KEY}"), assistant("", call)
    )
    run(home)
    job = jobs.run_now("findings_scan", {}, by="root")
    assert job.state == "finished", job.message
    assert Finding.objects.using(MAIN).filter(value_hash=MAIL_HASH).count() == 3
    return FindingValue.objects.get(value_hash=MAIL_HASH)


def test_nothing_in_a_value_its_text_or_its_path_becomes_html(as_reviewer, planted):
    FindingVerdict.objects.create(
        id="v1", scope="place", verdict="dismissed", value_hash=MAIL_HASH, agent_id="main", place=f"record:{SCRIPT}/1",
        notes=SCRIPT, decided_by=PICTURE, decided_at=1,
    )  # fmt: skip
    own = planted.get_absolute_url()
    for address in (own, "/findings/", f"/findings/texts/?ids={MAIL_HASH}", f"/findings/?rule={SCRIPT}"):
        page = as_reviewer.get(address)
        assert page.status_code == 200
        assert SCRIPT not in page.text and PICTURE not in page.text, address
    assert "&lt;script&gt;alert(1)" in as_reviewer.get(own).text
    answer = as_reviewer.get(f"/api/v1/findings/{MAIL_HASH}/places?agent=main")
    assert answer["Content-Type"].startswith("application/json")
    assert {place["value"] for place in orjson.loads(answer.content)["items"]} == {MAIL}


def test_a_value_stands_nowhere_but_in_its_records(as_reviewer, planted, caplog):
    caplog.set_level(logging.DEBUG)
    [finding, *_rest] = value_list.read_places(MAIL_HASH, Agent.objects.get(agent_id="main"), with_texts=False)
    own = planted.get_absolute_url()
    place = {"scope": "place", "agent": "main", "finding": finding.finding.id}
    for fields in ({"scope": "value"}, place, {"scope": "nothing"}, place | {"finding": 10**18}):
        answer = as_reviewer.post(f"{own}judge/", {"verdict": "dismissed"} | fields)
        assert MAIL not in answer.get("Location", "") + answer.get("HX-Redirect", "")
    for path in (own, f"{own}?agent=nobody", "/findings/", "/findings/?format=csv", f"/findings/{MAIL_HASH[1:]}/"):
        answer = as_reviewer.get(path)
        assert path == own or MAIL.encode() not in b"".join(answer)
    assert MAIL not in caplog.text and KEY not in caplog.text
    # The overview copies title and last words of the newest sessions.
    assert set(read_tables_with(MAIL, "default")) | set(read_tables_with(KEY, "default")) <= {"newest_sessions"}
    assert read_tables_with(MAIL, MAIN)
    assert not [name for name in read_tables_with(MAIL, MAIN) if "finding" in name]


def read_tables_with(value, db):
    """Return the tables of a file in whose rows a value stands as it is."""
    names = connections[db].introspection.table_names()
    with connections[db].cursor() as cursor:
        return [name for name in names if value in repr(cursor.execute(f'SELECT * FROM "{name}"').fetchall())]
