"""Runs verbs of `openclaw-web reflection dataset` within a test."""

import orjson

from tests.suite import commands


def run_verb(*words):
    """The exit status of a verb, its output and its error."""
    return commands.run("reflection", "dataset", *map(str, words))


def read_receipt(*words, status=0):
    """The receipt of a verb that ends with this status."""
    ended, out, error = run_verb(*words, "--json")
    assert ended == status, error
    receipt = orjson.loads(out)
    assert receipt["ok"] is (status == 0)
    assert receipt.get("schema", "openclaw-web.reflection.v1") == "openclaw-web.reflection.v1"
    return receipt


def read_refusal(*words, status=3):
    """The sentence with which a verb ends."""
    ended, _out, error = run_verb(*words)
    assert ended == status, error
    return error
