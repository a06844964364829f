"""Where the big outputs of an agent's records go while they are collected."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils.translation import gettext as _

from ledger.outputs import stashing
from ledger.outputs.stashing import Outputs


@contextmanager
def taking(collection: Any, agent: Any, report: Any) -> Iterator[Outputs]:
    """`stashing.outputs` for what is stored in the block; a store that cannot be written is noted once."""
    with stashing.outputs(agent.db, is_on=collection.stashes_outputs) as outputs:
        yield outputs
    if outputs.problem:
        advice = _(
            "Large outputs are kept in their records; “openclaw-web collect --again” moves them to artifacts later."
        )
        report.notes.append(f"{outputs.problem} {advice}")
        collection.stashes_outputs = False  # the store would say the same to whoever comes next
