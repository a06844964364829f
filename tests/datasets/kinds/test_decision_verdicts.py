"""Decisions of a list whose turn has a judged sample.

test_verdict_places tests the rest.
"""

import pytest

from datasets.review import parts, verdicts
from datasets.services import make_samples
from tests.datasets.kinds.cases import make_case
from tests.datasets.kinds.test_verdict_places import get_places, read_place

pytestmark = pytest.mark.django_db


def test_what_was_said_on_the_sample_of_the_turn_counts_where_the_decision_has_none(as_reviewer, ada):
    case = make_case("decision")
    (sample_id,) = make_samples(ada, "s1", [2], by="ann").made
    verdicts.label_sample(sample_id, "approved", by="bea", gate=parts.PartVerdict("incorrect", {"reason": "Once."}))
    assert read_place(get_places(as_reviewer, case, 1), case) == ["Wrong", "Actions", "Right"]
    case.judge()
    assert read_place(get_places(as_reviewer, case, 1), case) == ["Right", "Actions", "Wrong"]
