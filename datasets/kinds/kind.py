"""What a kind of sample is. Decisions, writes and turns are declared in the modules beside this one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from django.db.models import QuerySet
from django.utils.functional import Promise

from agents.models import Agent
from ledger.models import ConversationTurn

from ..models import DatasetSample
from ..review.parts import PartVerdict

RIGHT, WRONG, NONE = VERDICTS = ("right", "wrong", "none")


class SampleSubject(Protocol):
    """What a sample is made of: at least its turn, where one is known."""

    @property
    def turn(self) -> ConversationTurn | None: ...


@dataclass(frozen=True, slots=True)
class Words:
    """What people are told of samples of a kind."""

    neither: Promise
    only_wrong: Promise
    done: dict[str, Promise]  # by verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleKind:
    """A kind of sample: of turns, and as `JudgedKind` of decisions and writes.

    `key` is a part of what the ids of its samples are hashed from. `body(agent, seen, is_right)` is the content,
    `columns(agent, seen)` what the row says besides, and `labels(seen)` what it comes with for a reviewer.
    """

    key: str
    body: Callable[[Agent, Any, bool], dict[str, Any]]
    columns: Callable[[Agent, Any], dict[str, Any]]
    labels: Callable[[Any], dict[str, Any]] = lambda _seen: {}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedKind(SampleKind):
    """A kind whose samples are of something that people judge on its own page, before there is a sample.

    `name` is that of its pages, `column` that of its samples which names what they are of.
    `find(agent, id)` is its row; `see(agent, row)` what a sample of it is made of, or raises Refused;
    `verdict(row, seen, said, correction)` what is said of `part`. With `sees_again` the verdict on a sample that is
    there needs `seen` too. `samples_of(agent, rows)` finds the samples of rows by their ids, the own one first,
    `find_sample_id(agent, id)` the id of its own. `create(agent, row, by)` makes a sample without a verdict where that
    is not simply its own. For lists, `rows` are its rows with what `judgeable` reads, which keeps the ids of those
    that may have a sample, and `writes(db, ids)` finds what a list shows of writes beside its rows.
    """

    name: str
    types: tuple[str, ...]
    column: str
    part: str
    words: Words
    find: Callable[[Agent, str], Any]
    read_subject: Callable[[Agent, Any], SampleSubject]
    verdict: Callable[[Any, Any, str, Any], PartVerdict]
    find_samples: Callable[[Agent, list[Any]], dict[str, list[DatasetSample]]]
    find_sample_id: Callable[[Agent, str], str]
    rows: QuerySet[Any]
    judgeable: Callable[[list[Any]], set[str]]
    writes: Callable[[str, list[str]], dict[str, Any]] = lambda _db, _ids: {}
    reads_again: bool = False
    create: Callable[[Agent, Any, str], DatasetSample] | None = None
