"""Two operators roll back one write at once: one succeeds, the other reads why not.

The server is a real one, with two web processes.
"""

import http.client
import json
import re
import sqlite3
import threading
import time
from base64 import b64encode
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from guardian.files import MEMORY_FILES
from tests import processes
from tests.homes import Home, assistant, user

pytestmark = [pytest.mark.kill, pytest.mark.nightly]
AGENTS, ROUNDS = ("main", "ada", "bob", "cleo"), 5  # rollbacks of four agents beside each other: twenty in all
NAME, PASSWORD = "MEMORY.md", "correct horse battery"
PREPARE = f"""
import json
from django.contrib.auth.hashers import make_password
from people.accounts import services as accounts, tokens
accounts.create_user("root", "admin", None, by="root")
made = {{}}
for name in ("otto", "anna"):
    user = accounts.create_user(name, "operator", make_password({PASSWORD!r}), by="root")
    made[name] = tokens.make_token(user, name="x", role="operator")[1]
print(json.dumps(made, separators=(",", ":")))
"""
# What a file holds before a write, after it, and when it is rolled back; and after that.
WRITES = (
    (b"# Facts\n", b"# Facts\n- tea\n", None, b"# Facts\n"),
    (None, b"new\r\n\xff\x00", None, None),
    (b"a\nb\nc\n", b"a\nB\nc\n", b"a\nB\nc\nd\n", b"a\nb\nc\nd\n"),
    (b"x" * 1_000_000, b"", None, b"x" * 1_000_000),
    (b"no end", b"no end\nmore", None, b"no end"),
)


class Site:
    """A server with two web processes, the workspaces of its agents, and its clients."""

    def __init__(self, home, source):
        self.home, self.source = home, source
        self.tokens = json.loads(home.python(PREPARE))
        self.host = urlsplit(home.serve("--no-watch", "--workers", "2").address()).netloc
        self.cookies = ""
        page = self.send("GET", "/sign-in/")
        sent = {"username": "anna", "password": PASSWORD, "csrfmiddlewaretoken": csrf(page)}
        assert self.send("POST", "/sign-in/", form=sent)[0] == 302

    def send(self, method, path, *, form=None, body=None, token=None):
        """Send a request; return the status and the text of the answer.

        A request has the token of a program, or the cookies of Anna's browser.
        """
        headers = {"Authorization": f"Bearer {token}"} if token else {"Cookie": self.cookies}
        headers["Content-Type"] = "application/json" if token else "application/x-www-form-urlencoded"
        data = json.dumps(body) if body is not None else urlencode(form) if form is not None else None
        with closing(http.client.HTTPConnection(self.host, timeout=processes.HANG)) as connection:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            new = dict(cookie.partition(";")[0].split("=", 1) for cookie in answer.headers.get_all("Set-Cookie") or ())
            if new and not token:
                old = dict(cookie.split("=", 1) for cookie in self.cookies.split("; ") if cookie)
                self.cookies = "; ".join(f"{name}={value}" for name, value in (old | new).items())
            return answer.status, answer.read().decode()

    def file(self, agent):
        return Path(self.source.root) / ("workspace" if agent == "main" else f"workspace-{agent}") / NAME

    def rows(self, agent, sql):
        with closing(sqlite3.connect(self.home.path / "agents" / agent / "agent" / "openclaw-agent.sqlite")) as store:
            return store.execute(sql).fetchall()


def csrf(answer):
    return re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', answer[1])[1]


@pytest.fixture
def site(tmp_path, migrated):
    source = Home(tmp_path.resolve() / "openclaw", AGENTS)
    home = processes.Home.copied(migrated, tmp_path / "home")
    home.env |= {"OPENCLAW_WEB_WORKSPACE_WRITES": "1", "OPENCLAW_STATE_DIR": str(source.root)}
    for agent in AGENTS:
        source.transcript(user("Hello"), assistant("Hello"), agent=agent)
        (source.root / ("workspace" if agent == "main" else f"workspace-{agent}")).mkdir()
    assert home.start("collect", "--quiet").end() == 0
    yield Site(home, source)
    home.close()


def create_write(site, agent, number, name=NAME):
    """Let an agent write and its plugin report it; return the address of the rollback.

    Returns also what the file holds after the rollback.
    """
    before, after, later, restored = WRITES[number]
    report = {"id": f"w{number}", "session_id": "s", "target_file": name, "candidate_fact": f"Fact {number}"}
    sides = {"before": before, "after": after}
    report |= {f"{side}_base64" if data else side: data and b64encode(data).decode() for side, data in sides.items()}
    report |= {} if after else {"after": ""}
    report |= {"status": "written", "created_at": 1_770_000_000_000 + number * 60_000}
    address = f"/api/v1/agents/{agent}/guardian/writes"
    status, words = site.send("POST", address, body={"writes": [report]}, token=site.tokens["otto"])
    assert status == 201, words
    site.file(agent).with_name(name).write_bytes(after if later is None else later)
    return f"{address}/w{number}/rollback", restored


def by_program(site, who, address, seen):
    body = {"reason": f"{who} says so.", "seen": seen}
    return lambda: site.send("POST", address, body=body, token=site.tokens[who])


def by_page(site, agent, number):
    page = site.send("GET", f"/agents/{agent}/writes/rollback/of/w{number}/")
    action = re.search(rf'action="([^"]*/rollback/do/w{number}/[^"]*)"', page[1])[1]
    seen = re.search(r'name="seen" value="(\w*)"', page[1])[1]
    form = {"reason": "anna says so.", "seen": seen, "csrfmiddlewaretoken": csrf(page)}
    return lambda: site.send("POST", action, form=form)


def send_together(*requests):
    """Send all requests at the same moment; return their answers."""
    answers, barrier = [None] * len(requests), threading.Barrier(len(requests))

    def ask(place):
        barrier.wait()
        answers[place] = requests[place]()
        while answers[place][0] == 503:  # each process takes two at a time: try again, as the answer says
            assert "Try again in 5 seconds." in answers[place][1]
            time.sleep(0.2)
            answers[place] = requests[place]()

    threads = [threading.Thread(target=ask, args=[place]) for place in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def run_rounds(site, agent, results):
    for number in range(ROUNDS):
        address, restored = create_write(site, agent, number)
        seen = json.loads(site.send("GET", address, token=site.tokens["otto"])[1])["seen"]
        other = by_page(site, agent, number) if number % 2 else by_program(site, "anna", address, seen)
        answers = send_together(by_program(site, "otto", address, seen), other)
        file = site.file(agent)
        results.append((answers, (file.read_bytes() if file.exists() else None) == restored))


def test_of_twenty_at_once_most_are_refused_at_once_and_the_site_answers(site):
    """Each rollback holds a thread for five seconds, two at a time in each process.

    Twelve threads remain for pages.
    """
    addresses = [create_write(site, agent, *each)[0] for agent in AGENTS for each in enumerate(MEMORY_FILES)]
    seen = [json.loads(site.send("GET", address, token=site.tokens["otto"])[1])["seen"] for address in addresses]
    requests = [
        partial(site.send, "POST", address, body={"reason": "Wrong.", "seen": seen_hash}, token=site.tokens["otto"])
        for address, seen_hash in zip(addresses, seen, strict=True)
    ]
    answers = []
    threads = [threading.Thread(target=lambda ask=ask: answers.append(ask())) for ask in requests]
    for thread in threads:
        thread.start()
    healthy = 0
    while any(thread.is_alive() for thread in threads):
        assert site.send("GET", "/healthz")[0] == 200
        healthy += 1
    for thread in threads:
        thread.join()
    busy = [words for status, words in answers if status == 503]
    assert {status for status, _words in answers} == {200, 503}
    written = len(requests) - len(busy)
    assert written in (2, 4) and healthy > len(requests)  # two in each web process; a busy site has a second one
    assert all(json.loads(words)["code"] == "too_many_rollbacks" for words in busy)


def test_one_of_two_does_it_and_the_other_reads_why_not(site):
    results = []
    threads = [threading.Thread(target=run_rounds, args=[site, agent, results]) for agent in AGENTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == len(AGENTS) * ROUNDS
    for answers, is_restored in results:
        (won,) = [words for status, words in answers if status in (200, 302)]
        (lost,) = [(status, words) for status, words in answers if status not in (200, 302)]
        assert is_restored and lost[0] in (409, 422) and "has been rolled back already" in lost[1], (won, lost)
    winners = set()
    for agent in AGENTS:
        assert [path.name for path in site.file(agent).parent.iterdir()] in ([NAME], [])
        states = "SELECT state, count(*), count(ended_at) FROM rollback_intents GROUP BY state"
        assert site.rows(agent, states) == [("done", ROUNDS, ROUNDS)]
        assert site.rows(agent, "SELECT count(*), count(DISTINCT audit_id) FROM rollbacks") == [(ROUNDS, ROUNDS)]
        taken = "SELECT count(*) FROM write_guardian_audit WHERE status = 'rolled_back'"
        assert site.rows(agent, taken) == [(ROUNDS,)]
        winners |= {row[0] for row in site.rows(agent, "SELECT rolled_back_by FROM rollbacks")}
    assert winners <= {"otto", "anna"}
    entries = "SELECT count(*) FROM operator_audit WHERE action = 'write_rolled_back'"
    assert site.home.count(entries) == len(AGENTS) * ROUNDS
