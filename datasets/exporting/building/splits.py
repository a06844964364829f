"""Which side of a split a session is on: decided by a hash, so that it is the same every time and everywhere."""

import hashlib

import orjson

TRAIN, TEST = SIDES = ("train", "test")


def side(agent_id: str, session_id: str, *, seed: str, train_share: float) -> str:
    """`train` or `test` for a whole session: its turns know each other and must not be on both sides."""
    digest = hashlib.sha256(orjson.dumps([agent_id, session_id, seed])).digest()
    return TRAIN if int.from_bytes(digest[:8]) / 2**64 < train_share else TEST
