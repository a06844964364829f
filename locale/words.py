"""Collects the site's texts for translators, and updates and compiles their catalogues (`./dev words`).

Babel does all of it, so GNU gettext need not be installed. The catalogues are Django's own
(`<language>/LC_MESSAGES/django.po`). That of English has no translations: all sentences can be read there from top to
bottom.
"""

import io
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ("en", "zh_Hans")
NOT_OURS = (".*", "tests", "benchmarks", "docs", "static", "locale", "migrations", "__pycache__", "build", "dist")
METHODS = [("**.py", "python"), ("templates/**.html", "jinja2")]
# As openclaw_web.pages.templates makes the environment: else the ids differ, or a template with an error is left out.
AS_DRAWN = {"newstyle_gettext": "true", "trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}
OPTIONS = {"templates/**.html": AS_DRAWN}
KEYWORDS = DEFAULT_KEYWORDS | {
    "gettext_lazy": None,
    "ngettext_lazy": (1, 2),
    "format_plural": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext_lazy": ((1, "c"), 2, 3),
}
Use = tuple[str, int, str | tuple[str, ...], list[str], str | None]
HEAD = """msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plural_forms}\\n"

"""


def collect(uses: Iterable[Use] | None = None) -> Catalog:
    """Every text of templates and code, with its places; from `uses` where given."""
    catalog = Catalog(project="openclaw-web", charset="utf-8")
    for file, line, text, comments, context in extract_texts() if uses is None else uses:
        catalog.add(text, locations=[(file, line)], auto_comments=comments, context=context)
    return catalog


def extract_texts() -> Iterator[Use]:
    """Yield every use of a text in templates and code.

    A use is file, line, text (with its plural), comments, context.
    """
    return extract_from_dir(
        ROOT,
        METHODS,
        OPTIONS,
        KEYWORDS,
        comment_tags=("Translators:",),
        strip_comment_tags=True,
        directory_filter=_is_ours,
    )


def place(language: str) -> Path:
    """The path of a language's catalogue."""
    return ROOT / "locale" / language / "LC_MESSAGES" / "django.po"


def read(language: str) -> Catalog:
    """The catalogue of a language from its file; empty when there is none."""
    if not place(language).exists():
        return Catalog(locale=language, charset="utf-8", fuzzy=False)
    with place(language).open("rb") as file:
        return read_po(file, locale=language)


def updated(language: str, template: Catalog) -> Catalog:
    """The catalogue of a language with the current texts, and no others."""
    catalog = read(language)
    catalog.update(template, no_fuzzy_matching=True)
    return catalog


def in_file(catalog: Catalog) -> bytes:
    """A catalogue as its file has it, with places of texts.

    It has no line numbers and no dates, which would change without the texts.
    """
    file = io.BytesIO()
    write_po(file, catalog, width=120, sort_by_file=True, ignore_obsolete=True, include_lineno=False, omit_header=True)
    head = HEAD.format(language=catalog.locale_identifier, plural_forms=catalog.plural_forms)
    return head.encode() + file.getvalue()


def compiled(catalog: Catalog) -> bytes:
    """A catalogue as Django reads it.

    Texts without a translation are left out: Babel would compile the singular for a plural that nobody translated.
    """
    for message in untranslated(catalog):
        catalog.delete(message.id, message.context)
    catalog.creation_date = catalog.revision_date = datetime(2026, 1, 1, tzinfo=UTC)  # the same texts, the same bytes
    file = io.BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def untranslated(catalog: Catalog) -> list:
    """The texts that a catalogue has no translation of, or not all forms of one."""
    return [message for message in catalog if message.id and not _is_translated(message)]


def named(message: Message) -> str:
    """A text and its first place, on one line."""
    places = [f"{file}:{line}" if line else file for file, line in message.locations]
    forms = [message.id] if isinstance(message.id, str) else message.id
    return f"{', '.join(places[:1])}  {' | '.join(' '.join(form.split()) for form in forms)}"


def _is_translated(message):
    return all(message.string) if isinstance(message.string, tuple) else bool(message.string)


def _is_ours(folder):
    parts = Path(folder).relative_to(ROOT).parts
    return not any(part in NOT_OURS or part.startswith(".") for part in parts)


def main() -> int:
    """Update the files of all languages; return 1 when texts have no translation."""
    template, waiting = collect(), 0
    for language in LANGUAGES:
        catalog = updated(language, template)
        place(language).parent.mkdir(parents=True, exist_ok=True)
        place(language).write_bytes(in_file(catalog))
        missing = [] if language == "en" else untranslated(catalog)
        waiting += len(missing)
        print(f"{language}: {len(template)} texts, {len(missing)} without a translation")  # noqa: T201
        for message in missing:
            print(f"  {named(message)}")  # noqa: T201
        if language != "en":
            place(language).with_suffix(".mo").write_bytes(compiled(catalog))
    return 1 if waiting else 0


if __name__ == "__main__":
    sys.exit(main())
