"""The filters of a list spelled in one line: `tool:exec cost>0.1 error "no connection"`.

No filter is declared here: the names are the fields of the list's form, and all other words are its search (`q`). The
grammar is in docs/lists.md.
"""

import difflib
import re
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

import orjson
from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _

from ..errors import Refused
from . import segments
from .filters import LINE, ListFilters

Filters = TypeVar("Filters", bound=ListFilters)
SEARCH = "q"
LONGEST = 10_000  # characters of a line that are read
# What an address has beside its line and the fields that say which list.
BESIDE_LINE = (segments.NAME, "sort", "format")
YES = ("yes", "on", "true", "1")
QUOTED = r'"(?:\\.|[^"\\])*(?:"|\\?\Z)'  # what is open at the end of the line ends there
PART = re.compile(
    rf"(?P<name>[A-Za-z][A-Za-z0-9_]*)(?P<sign>[:：]|>=?)(?P<value>{QUOTED}|\S*)"
    rf"|(?P<minus>-(?:{QUOTED}|\w\S*))|(?P<quoted>{QUOTED})|(?P<word>\S+)",
    re.DOTALL,
)
WITHIN = re.compile(r'"((?:\\.|[^"\\])*\\?)"?', re.DOTALL)
ESCAPED = re.compile(r'\\([\\"])')
BARE = re.compile(r'[^\s"]\S*')  # a value that needs no quotes
NUMBERS = (forms.FloatField, forms.IntegerField)  # these fields mean a minimum


@dataclass(frozen=True, slots=True)
class FilterLine:
    """The line of a page: the filters in force, or as typed with a sentence for each part that was not understood."""

    text: str
    hint: str
    offers: str  # what can be completed, as JSON: [name, label, sign, [[value, word], …]] of each filter
    place: dict[str, str]  # what else the address has: the segment, the order, which list it is
    problems: list[str]


def build_line(filters: ListFilters, typed: str | None, problems: list[str]) -> FilterLine:
    """The line of validated filters; the typed one where something in it was not understood."""
    offers = [
        (name, str(filters.fields[name].label), _get_sign(filters.fields[name]), _list_values(filters, name))
        for name in _list_names(filters)
        if name != SEARCH and name not in filters.HIDDEN
    ]
    search = [str(filters.fields[SEARCH].label)] if SEARCH in filters.fields else []
    hint = " · ".join([*search, " ".join(f"{name}{sign}" for name, _label, sign, _values in offers[:4])])
    place = {name: filters.data.get(name) for name in ("sort", *filters.PLACE)} | {segments.NAME: filters.segment}
    return FilterLine(
        text=(typed or "") if problems else spell(filters),
        hint=hint,
        offers=orjson.dumps(offers).decode(),
        place={name: value for name, value in place.items() if value},
        problems=problems,
    )


def spell(filters: ListFilters) -> str:
    """The filters in force as a line: first those with names, then the words of the search."""
    parts = []
    for name in sorted(filters.chosen, key=lambda name: name == SEARCH):
        text, form_field = str(filters.data[name]).strip(), filters.fields[name]
        if name == SEARCH:
            parts.append(_spell_search(text, filters))
        elif isinstance(form_field, forms.BooleanField):
            parts.append(name)
        else:
            parts.append(f"{name}{_get_sign(form_field)}{text if BARE.fullmatch(text) else _quote(text)}")
    return " ".join(parts)


def read_line(filters: ListFilters, query: QueryDict) -> tuple[QueryDict, list[str]]:
    """The address that the line of an address stands for, and a sentence for each part that was not understood.

    `filters` offer their values. What is not understood is left out, and nothing else is.
    """
    values, problems = _read_parts(filters, query[LINE])
    place = {name: query[name] for name in (*filters.PLACE, *BESIDE_LINE) if query.get(name)}
    while True:
        address = QueryDict(mutable=True)
        address.update(place | values)
        errors = {name: texts for name, texts in type(filters)(address).errors.items() if name in values}
        if not errors:
            return address, problems
        for name, texts in errors.items():  # of a first day after the last one, only the first is left out
            problems.append(f"{filters.fields[name].label}: {texts[0]}")
            del values[name]


def parse_line(filters: type[Filters], line: str, **place: str) -> Filters:
    """The validated filters that a line stands for; `place` is what else an address has, such as the segment.

    Raises Refused, with a sentence for each part that was not understood.
    """
    address, problems = read_line(filters(), QueryDict(urlencode({LINE: line, **place})))
    if problems:
        raise Refused(" ".join(problems))
    return filters(address).validate()


def _read_parts(filters, line):
    """`{field: text}` of what was understood, and sentences about the rest."""
    if len(line) > LONGEST:
        return {}, [_("The filters are longer than %(most)s characters.") % {"most": f"{LONGEST:,}"}]
    names, values, words, problems = _list_names(filters), {}, [], []
    for part in PART.finditer(line):
        name, word = (part["name"] or "").lower(), part["word"]
        is_minimum = isinstance(filters.fields.get(name), NUMBERS)
        if name and (part["sign"] in ":：" or is_minimum or part["value"][:1].isdigit()):
            try:
                text = _read_value(filters, names, name, part)
                if name in values:
                    raise Refused(_("“%(name)s” is there twice. The first one counts.") % {"name": name})
            except Refused as refused:
                problems.append(refused.sentence)
                continue
            if name == SEARCH:
                words.append(text)
            else:
                values[name] = text
        elif word in names and isinstance(filters.fields[word], forms.BooleanField):
            values[word] = "on"
        elif filters.FINDS_WORDS and not name:
            words.append(part[0])
        elif part["minus"]:
            sentence = _("Rows with “%(word)s” cannot be left out. To search for the minus too, put it in quotes.")
            problems.append(sentence % {"word": _unquote(part["minus"][1:])})
        else:
            words.append(_unquote(part[0]))
    search = " ".join(words).strip()
    if search and SEARCH in names:
        values[SEARCH] = search
    elif search:
        problems.append(_("This list has no search for words, so “%(words)s” was ignored.") % {"words": search})
    return values, problems


def _read_value(filters, names, name, part):
    """The text of a named part for its field. Raises Refused where it has none."""
    text = _unquote(part["value"]).strip()
    if name not in names:
        near = difflib.get_close_matches(name, names, 1, 0.5)
        if near:
            raise Refused(
                _("There is no filter “%(name)s”. Did you mean “%(near)s”?") % {"name": part["name"], "near": near[0]}
            )
        raise Refused(_("There is no filter “%(name)s”. To search for it, put it in quotes.") % {"name": part["name"]})
    form_field, known = filters.fields[name], dict(_list_values(filters, name))
    if isinstance(form_field, forms.BooleanField):
        if text.casefold() not in (*YES, _("yes")):
            raise Refused(_("“%(name)s” has no value: write the name alone.") % {"name": name})
        return "on"
    if not text:
        raise Refused(_("There is no value after “%(name)s”.") % {"name": part["name"]})
    if part["sign"] in (">", ">=") and not isinstance(form_field, NUMBERS):
        raise Refused(_("“%(name)s” has no minimum: write a colon.") % {"name": name})
    if text in known:
        return text
    by_word = {word.casefold(): value for value, word in known.items()}
    if isinstance(form_field, forms.ChoiceField) and text.casefold() not in by_word:
        near = difflib.get_close_matches(text, [*known, *known.values()], 1, 0) or [""]
        raise Refused(
            _("“%(name)s” has no value “%(value)s”. Did you mean “%(near)s”?")
            % {"name": name, "value": text, "near": near[0]}
        )
    return by_word.get(text.casefold(), text)


def _list_names(filters):
    return [name for name in filters.fields if name not in (*BESIDE_LINE, *filters.PLACE)]


def _list_values(filters, name):
    """`[(value, word)]` that a field offers."""
    known: Any = filters.offered.get(name) or getattr(filters.fields[name], "choices", ())
    return [(str(value), str(word)) for value, word in known if value]


def _get_sign(form_field):
    return "" if isinstance(form_field, forms.BooleanField) else ">" if isinstance(form_field, NUMBERS) else ":"


def _spell_search(text, filters):
    """The words of a search: as they are where they are read back like that, else in quotes."""
    if filters.FINDS_WORDS:
        return text if _read_parts(filters, text) == ({SEARCH: text}, []) else f"{SEARCH}:{_quote(text)}"
    return text if _is_plain(text, filters) else _quote(text)


def _is_plain(text, filters):
    """Whether the words of a search mean the same without quotes."""
    words = text.split(" ")
    parts = [PART.match(word) for word in words]
    return all(
        part and part["word"] == word and word not in filters.fields for word, part in zip(words, parts, strict=True)
    )


def _quote(text):
    return '"' + re.sub(r'([\\"])', r"\\\1", text) + '"'


def _unquote(text):
    return ESCAPED.sub(r"\1", WITHIN.match(text)[1]) if text.startswith('"') else text
