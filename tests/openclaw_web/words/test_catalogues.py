"""The catalogues are those of the texts that are there, and every text is translated."""

import re

import pytest

from tests.test_architecture import fail_for

from .catalogues import forms, found, words

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|\{\w*\}")
TAG = re.compile(r"</?[a-z][^>]*>")
TRANSLATED = [language for language in words.LANGUAGES if language != "en"]


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_they_are_up_to_date(language):
    current = words.in_file(words.updated(language, found()))
    assert current == words.place(language).read_bytes(), "run ./dev words"


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated(language):
    catalog = words.read(language)
    assert len(catalog) > 2_000
    fail_for(f"{language}  not translated: {message.id}" for message in words.untranslated(catalog))


@pytest.mark.parametrize("language", TRANSLATED)
def test_what_is_compiled_is_what_is_written(language):
    compiled = words.place(language).with_suffix(".mo").read_bytes()
    assert words.compiled(words.read(language)) == compiled, "run ./dev words"


@pytest.mark.parametrize("language", TRANSLATED)
def test_placeholders_and_markup_are_those_of_the_text(language):
    problems = []
    for message in words.read(language):
        wanted, texts = forms(message.id)[-1], forms(message.string)
        for text in texts if message.id else ():
            if sorted(set(PLACEHOLDER.findall(text))) != sorted(set(PLACEHOLDER.findall(wanted))):
                problems.append(f"{language}  other placeholders: {wanted} | {text}")
            if sorted(TAG.findall(text)) != sorted(TAG.findall(wanted)):
                problems.append(f"{language}  other markup: {wanted} | {text}")
            if wanted.strip(", ") and (text[:1] == " ", text[-1:] == " ") != (wanted[:1] == " ", wanted[-1:] == " "):
                problems.append(f"{language}  blanks around it differ: {wanted!r} | {text!r}")
    fail_for(problems)


def test_a_text_without_a_translation_is_noticed():
    catalog = words.Catalog(locale="zh_Hans")
    catalog.add("Nobody translated this", "")
    catalog.add(("%(n)s thing", "%(n)s things"), ("",))
    catalog.add("Done", "完成")
    assert [message.id for message in words.untranslated(catalog)] == [
        "Nobody translated this",
        ("%(n)s thing", "%(n)s things"),
    ]
    assert "完成".encode() in words.compiled(catalog) and b"Nobody" not in words.compiled(catalog)
