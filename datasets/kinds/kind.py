"""Declarations of kinds of samples. The modules beside this one declare decisions, writes and turns."""

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
    """The subject of a sample, with its turn where one is known."""

    @property
    def turn(self) -> ConversationTurn | None: ...


@dataclass(frozen=True, slots=True)
class Words:
    """Texts of the interface about samples of a kind."""

    neither: Promise
    only_wrong: Promise
    done: dict[str, Promise]  # by verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleKind:
    """A kind of sample: of turns, and as `JudgedKind` of decisions and writes.

    `key` goes into the hash that the ids of its samples are. `body(agent, subject, is_right)` is the content,
    `columns(agent, subject)` the other columns, and `labels(subject)` the labels that a new sample has for a reviewer.
    """

    key: str
    body: Callable[[Agent, Any, bool], dict[str, Any]]
    columns: Callable[[Agent, Any], dict[str, Any]]
    labels: Callable[[Any], dict[str, Any]] = lambda _seen: {}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedKind(SampleKind):
    """A kind of sample about rows that people judge on a page of their own.

    `name` is that of its pages, `column` the column of samples that names the row. `find(agent, id)` is the row;
    `read_subject(agent, row)` the subject of its sample, or raises Refused; `verdict(row, subject, choice, correction)`
    the verdict on `part`. With `reads_again` the verdict on a stored sample needs the subject too. `find_samples(agent,
    rows)` finds the samples of rows by their ids, the own one first, `find_sample_id(agent, id)` the id of its own.
    `create(agent, row, by)` creates a sample without a verdict where that is not simply its own. For lists, `rows` are
    its rows with the columns that `judgeable` reads, which returns the ids of those that may have a sample, and
    `writes(db, ids)` finds the writes that a list shows beside its rows.
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
