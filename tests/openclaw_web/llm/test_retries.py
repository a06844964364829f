"""Retries of a request: their number, pauses, and reports of failures."""

import pytest

from openclaw_web.llm.client import CallFailed, Failure, ask_model, call_with_retries
from openclaw_web.llm.endpoint import Endpoint
from tests.llm_endpoint import Endpoint as Server
from tests.llm_endpoint import cut_off, fails, says

MESSAGES = [{"role": "user", "content": "Hello"}]


class Patient:
    """Asks a server with retries, and records failures and pauses."""

    def __init__(self, server, *, attempts=4, seconds=1_000_000):
        self.failures, self.pauses = [], []
        self.endpoint = Endpoint(server.url, "k-1")
        self.bounds = {"attempts": attempts, "seconds": seconds}

    def ask(self):
        return call_with_retries(
            lambda: ask_model(self.endpoint, model="small", messages=MESSAGES, max_tokens=5, seconds=60),
            on_failure=lambda failure, attempt: self.failures.append((attempt, failure.kind)),
            wait=self.pauses.append,
            **self.bounds,
        )

    def fail(self):
        with pytest.raises(CallFailed) as failed:
            self.ask()
        return failed.value


def test_an_answer_at_once_needs_no_patience():
    with Server() as server:
        patient = Patient(server)
        assert patient.ask().text == "yes"
    assert (patient.failures, patient.pauses, len(server.requests)) == ([], [], 1)


def test_it_works():
    with Server(fails(500), cut_off(), fails(429, retry_after=20), says("Yes")) as server:
        patient = Patient(server)
        assert patient.ask().text == "Yes"
    assert patient.failures == [(1, Failure.http_error), (2, Failure.cut_off), (3, Failure.rate_limited)]
    assert len({request.body for request in server.requests}) == 1 and len(server.requests) == 4
    first, second, third = patient.pauses
    assert 0 <= first <= 1 and 0 <= second <= 2 and 20 <= third <= 24


def test_attempts_have_an_end():
    with Server(fails(503)) as server:
        patient = Patient(server, attempts=3)
        assert patient.fail().status == 503
    assert [attempt for attempt, _ in patient.failures] == [1, 2, 3]
    assert len(patient.pauses) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 422, 307])
def test_what_is_final_is_not_asked_again(status):
    with Server(fails(status, location="/elsewhere")) as server:
        patient = Patient(server)
        assert patient.fail().is_final
    assert (len(patient.failures), patient.pauses, len(server.requests)) == (1, [], 1)


def test_nobody_waits_longer_than_there_is_time():
    with Server(fails(429, retry_after=3600)) as server:
        patient = Patient(server, seconds=60)
        assert patient.fail().retry_after == 3600
    assert (len(patient.failures), patient.pauses) == (1, [])


def test_pauses_grow_to_a_bound_and_are_never_the_same():
    with Server(fails(500)) as server:
        patient = Patient(server, attempts=40)
        patient.fail()
    assert len(set(patient.pauses)) == 39 and max(patient.pauses) <= 60
    assert all(pause <= 2**place for place, pause in enumerate(patient.pauses))


def test_who_is_told_may_end_it():
    def stop(failure, attempt):
        raise KeyboardInterrupt

    with Server(fails(500)) as server:
        endpoint = Endpoint(server.url, "")
        with pytest.raises(KeyboardInterrupt):
            call_with_retries(
                lambda: ask_model(endpoint, model="small", messages=MESSAGES, max_tokens=5, seconds=60),
                attempts=9,
                seconds=60,
                on_failure=stop,
            )
    assert len(server.requests) == 1


def test_it_really_waits():
    with Server(fails(429, retry_after=0.05), says("Yes")) as server:
        endpoint = Endpoint(server.url, "")
        failed_attempts = []
        answer = call_with_retries(
            lambda: ask_model(endpoint, model="small", messages=MESSAGES, max_tokens=5, seconds=60),
            attempts=2,
            seconds=600,
            on_failure=lambda failure, attempt: failed_attempts.append(attempt),
        )
    assert (answer.text, failed_attempts) == ("Yes", [1])
