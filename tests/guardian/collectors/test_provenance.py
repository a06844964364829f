"""Provenance records of OpenClaw, read from state databases with any content."""

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from guardian.collectors.provenance import CLASSES, SHA256, read_record

KEY, PATH = "a" * 64, hashlib.sha256(b"MEMORY.md").hexdigest()
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
FIELDS = {
    "version": st.just(1) | SCALARS,
    "relativePath": st.just("MEMORY.md") | SCALARS,
    "fileHash": st.just("b" * 64) | SCALARS,
    "originClass": st.sampled_from(CLASSES) | SCALARS,
    "observedAt": st.integers(0, 2**45) | VALUES,
    "sessionId": VALUES,
    "sessionKey": VALUES,
}


@given(st.fixed_dictionaries({}, optional=FIELDS | {"segments": VALUES}))
def test_a_record_is_known_only_when_all_that_matters_is(fields):
    record = read_record(KEY, PATH, json.dumps(fields).encode())
    assert record.file_name == "MEMORY.md"
    if record.is_known:
        assert fields["version"] == 1 and not isinstance(fields["version"], bool) and "segments" not in fields
        assert record.origin_class in CLASSES and SHA256.fullmatch(record.file_hash)
    assert record.is_trusted + record.is_untrusted <= record.is_known


@given(st.none() | st.integers() | st.text() | st.binary())
def test_what_is_no_record_is_not_known(value):
    record = read_record(KEY, PATH, value)
    assert record.file_name == "MEMORY.md" and not record.is_known
    assert read_record(KEY, "c" * 64, value) is None
