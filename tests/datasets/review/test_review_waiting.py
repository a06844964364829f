"""The badge of the rail entry: the number of samples that wait."""

import pytest

from datasets.models import DatasetSample
from tests.factories import SampleFactory

WAITING = "/review/waiting/"
pytestmark = pytest.mark.django_db


def test_it_works(as_reviewer, ada):
    SampleFactory.create_batch(2)
    SampleFactory(annotation_status="needs_review")
    SampleFactory(annotation_status="approved")
    answer = as_reviewer.get(WAITING)
    assert "3 samples to review" in answer.text
    assert answer["Cache-Control"] == "private, no-cache"  # the number changes with every verdict
    SampleFactory.create_batch(120)
    assert ">99+</b>" in as_reviewer.get(WAITING).text
    DatasetSample.objects.update(annotation_status="approved")
    assert as_reviewer.get(WAITING).text.strip() == ""
