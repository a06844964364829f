"""Reviewers who judge at the same time, on a real server whose workers are killed: exactly N verdicts, none lost."""

import http.client
import json
import os
import random
import signal
import threading
import time
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from tests.processes import HANG, Home, children, wait_for

PREPARE = """
import json
from agents import services
from datasets.models import DatasetSample
from datasets.queues import queue_store
from people.accounts import services as accounts, tokens
services.register("ada")
content = json.dumps({{"type": "annotated_turn", "userMessage": "Q", "agentReply": "A"}})
for n in range({items}):
    DatasetSample.objects.create(id=f"s{{n:03}}", sample_type="annotated_turn", agent_id="ada", session_id="s",
        turn_number=n, created_at=n, content=content)
queue = queue_store.create_queue("Storm", by="x", reviewers={reviewers})
users = [accounts.add_user(f"p{{n}}", "labeller")[0] for n in range({people})]
secrets = [tokens.make_token(user, name="x", role="labeller")[1] for user in users]
print(json.dumps([queue.id, secrets]).replace(" ", ""))
"""
OPEN = "SELECT count(*) FROM queue_items WHERE state = 'open'"
WRONG = """SELECT count(*) FROM (SELECT i.id FROM queue_items i
LEFT JOIN sample_labels l ON l.sample_id = i.sample_id AND l.queue_id = i.queue_id AND l.undoes IS NULL
GROUP BY i.id HAVING count(l.id) <> {n} OR count(DISTINCT l.labelled_by) <> {n})"""
UNEQUAL = """SELECT count(*) FROM queue_items i JOIN dataset_samples s ON s.id = i.sample_id
WHERE (i.state = 'done') <> (s.annotation_status <> 'pending') OR i.state = 'open'"""
ANSWERED = "SELECT json_group_array(sample_id || ' ' || labelled_by) FROM sample_labels"


def review(address, path, token, name, answered, ended):
    """Judge what the queue gives out until the test has ended; note each verdict that was answered."""
    dice = random.Random(name)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    while not ended.is_set():
        with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)) as connection:
            try:
                connection.request("GET", f"{path}/next", headers=headers)
                sample = json.loads(connection.getresponse().read())["sample"]
                while sample:
                    status = "approved" if dice.random() < 0.8 else "rejected"
                    body = json.dumps({"sample_id": sample["id"], "status": status})
                    connection.request("POST", f"{path}/verdict", body, headers)
                    response = connection.getresponse()
                    answer = json.loads(response.read())
                    if response.status != 200:
                        break
                    answered.append(f"{sample['id']} {name}")
                    sample = answer["sample"]
            except (OSError, http.client.HTTPException, KeyError, ValueError):  # the worker was killed
                continue
        time.sleep(0.05)


@pytest.mark.kill
@pytest.mark.parametrize(
    ("people", "items", "reviewers"), [(4, 12, 2), pytest.param(16, 300, 3, marks=pytest.mark.nightly)]
)
def test_every_item_has_exactly_its_verdicts(migrated, tmp_path, people, items, reviewers):
    home = Home.copied(migrated, tmp_path / "store")
    queue_id, tokens = json.loads(home.python(PREPARE.format(items=items, reviewers=reviewers, people=people)))
    server = home.serve("--no-watch")
    address, path = server.address(), f"/api/v1/review/queues/{queue_id}"
    answered, ended = [], threading.Event()
    threads = [
        threading.Thread(target=review, args=(address, path, token, f"p{number}", answered, ended))
        for number, token in enumerate(tokens)
    ]
    for thread in threads:
        thread.start()
    try:
        for share in (0.2, 0.5, 0.8):
            wait_for(lambda share=share: len(answered) > share * items * reviewers)
            os.kill(random.choice(children(server.pid)), signal.SIGKILL)
        wait_for(lambda: home.count(OPEN) == 0)
    finally:
        ended.set()
        for thread in threads:
            thread.join(HANG)
    assert (home.count(WRONG.format(n=reviewers)), home.count(UNEQUAL)) == (0, 0)
    assert set(answered) <= set(json.loads(home.count(ANSWERED)))
    home.close()
