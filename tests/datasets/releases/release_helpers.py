"""Datasets and releases for the tests."""

from datasets.models import DatasetMember
from datasets.releases.dataset_store import create_dataset
from datasets.releases.release import release_here
from tests.datasets.dedup.sample_texts import add_sample


def add_session(number, *, turns=1, text="", **columns):
    """Add the approved samples of a session, each with words of its own."""
    for turn in range(1, turns + 1):
        words = " ".join(f"s{number}t{turn}w{word}" for word in range(20))
        reply = text or f"Answer {words}"
        prompt = f"Question {words}"
        add_sample(f"x{number}-{turn}", reply, session=f"s{number}", turn=turn, prompt=prompt, **columns)


def make_dataset(name="support", **options):
    return create_dataset(name, options=options, by="ann")


def make_release(dataset):
    return release_here(dataset, by="ann")


def sides_of(version):
    """The side of each sample of a release."""
    return dict(DatasetMember.objects.filter(version=version).values_list("sample_id", "side"))
