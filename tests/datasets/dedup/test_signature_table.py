"""The table of signatures and its trigger, which the doctor finds missing and restores."""

import pytest

from datasets.dedup import signatures
from datasets.models import DatasetSample, SampleSignature
from openclaw_web.sqlite import inspection, statements, upkeep
from tests.datasets.dedup.sample_texts import add_sample, near_text

TRIGGER = "sample_signatures_outdated"


def triggers():
    return {
        name for (name,) in statements.read_rows("default", "SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    }


@pytest.mark.django_db
def test_the_doctor_knows_the_trigger():
    assert TRIGGER in inspection.build_triggers()
    statements.run("default", f"DROP TRIGGER {TRIGGER}")
    upkeep.make_triggers()
    assert TRIGGER in triggers()


@pytest.mark.django_db
def test_what_does_not_change_the_words_keeps_the_signature():
    add_sample("one", near_text(), output="edited")
    signatures.renew(["one"])
    DatasetSample.objects.update(annotation_status="rejected", output="edited", quality_score=1)
    assert SampleSignature.objects.count() == 1
    DatasetSample.objects.update(output=None)
    assert not SampleSignature.objects.exists()
