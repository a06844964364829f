"""Things of which each is linked to the next."""

from datasets.models import SampleLabel
from datasets.releases.dataset_store import create_dataset
from datasets.releases.release import release_here
from datasets.review.verdicts import label_sample
from people.audit import log as audit
from tests.datasets.dedup.sample_texts import body
from tests.datasets.exports.export_helpers import build_export
from tests.factories import DecisionFactory, SampleFactory, SessionFactory, TurnFactory
from tests.guardian.write_rows import create_write


def create_links():
    """A turn of Mei with everything that can come of it; a second turn with nothing."""
    session = SessionFactory(id="s1", title="About tea")
    for number in (1, 2):
        sender = '{"name": "Mei"}' if number == 1 else "{}"
        TurnFactory(session=session, turn_number=number, user_metadata=sender, first_seq=number, last_seq=number)
    DecisionFactory(id="d1", turn_id="s1:u1", session_id="s1", candidate_fact="likes green tea")
    create_write("agent_ada", 1, b"# Notes\n", b"# Notes\n- likes green tea\n", decision_id="d1", turn_id="s1:u1")
    sample = SampleFactory(id="x1", session_id="s1", turn_id="s1:u1", decision_id="d1", content=body(1))
    label_sample(sample.id, "approved", by="ann")
    version = release_here(create_dataset("support", options={}, by="ann"), by="ann")
    export = build_export("alpaca", name="teas")
    audit.record("tom", "downloaded", object_type="export", object_id=export.id)
    return {"version": version, "export": export, "label": SampleLabel.objects.get().id}
