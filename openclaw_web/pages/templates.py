"""Our templates: Jinja2 behind Django's template API.

`page.html#block` names one block of a page, for HTMX.

All names that templates can use are listed here, except the filters of apps, which settings.TEMPLATES lists.
"""

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.template import defaultfilters, engines
from django.template.backends.jinja2 import Jinja2, Template
from django.template.backends.utils import csrf_input
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils import translation
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string
from django_htmx.jinja import htmx_script
from heroicons.templatetags.heroicons import heroicon_outline as draw
from jinja2 import Environment, StrictUndefined
from jinja2.ext import Extension
from jinja2.runtime import Macro
from markupsafe import Markup

from .. import clock, sentences
from . import formatting, glyphs, navigation, states, zones
from .template_cache import TemplateCache

# A text that ends with punctuation, and the space after it: Chinese has none after “：” or “。”.
TEXT = r"\{\{-? ?_\(\"[^\"{}]*[.:,;!?]\"(?:, [^{}]*)?\) ?\}\}"
TRANSLATED = r"[.:,;!?]\{% ?endtrans ?%\}"
CLOSED = r"(?:</(?:span|strong|small|b|a)>|\{% ?(?:endif|if [^%]*)%\})*"
SPACE = re.compile(rf"((?:{TEXT}|{TRANSLATED}){CLOSED})(?: +(?=\S)|(\s+)(?=\{{\{{ ?_\())")


class Gaps(Extension):
    """Replaces such a space by `{{ gap() }}` before a template is compiled.

    Lines keep their numbers.
    """

    def preprocess(self, source, name, filename=None):
        """The source with spaces as the language writes them."""
        return SPACE.sub(lambda hit: f"{hit[1]}{{{{ gap(){hit[2] or ''}}}}}", source)


class Templates(Jinja2):
    """Django's backend; the name of a template may end with the name of a block."""

    def get_template(self, template_name):
        name, _hash, block = template_name.partition("#")
        template = super().get_template(name)
        return Template(_select_block(template.template, block), self) if block else template


def _select_block(template, block):
    """A template that renders only one block of another, which may be inherited."""

    def render(context, *_args):
        next(template.root_render_func(context), None)  # up to the first output: imports and `set` above the blocks
        yield from context.blocks[block][0](context)

    part = object.__new__(type(template))  # there is no other way to copy a template of Jinja2
    vars(part).update(vars(template), root_render_func=render)
    return part


class Components:
    """The macros of templates/ui/ by their names: `{{ ui.badge(_("Ready"), tone="ok") }}`.

    They need no import.

    A macro sees its arguments and nothing else of a page. Macros are loaded once per process.
    """

    def __init__(self, env: Environment):
        self._env = env

    def __getattr__(self, name: str) -> Macro:
        try:
            return (self._read() if self._env.auto_reload else self.macros)[name]
        except KeyError:
            raise AttributeError(f"templates/ui/ has no component {name}") from None

    @cached_property
    def macros(self) -> dict[str, Macro]:
        """Every component by its name."""
        return self._read()

    def _read(self):
        files = self._env.list_templates(filter_func=lambda name: name.startswith("ui/"))
        modules = (vars(self._env.get_template(file).module) for file in files)
        return {name: macro for module in modules for name, macro in module.items() if isinstance(macro, Macro)}


def environment(
    *,
    filters: Iterable[str] = (),
    kept_in: Path | None = None,
    cls: type[Environment] = Environment,
    **options,
) -> Environment:
    """Create the environment of our templates, with all names that they can use.

    `filters` are dotted names of dictionaries with further filters. Compiled code is stored in the folder `kept_in`.
    """
    # Not optimized: filters of constants would run while compiling, and the stored result would outlive their code.
    options |= {"undefined": StrictUndefined, "extensions": ["jinja2.ext.i18n", Gaps], "optimized": False}
    options |= {"trim_blocks": True, "lstrip_blocks": True}
    # The compiled code also depends on the pattern of Gaps.
    version = [SPACE.pattern, *sorted((name, str(value)) for name, value in options.items() if name != "loader")]
    env = cls(**options, bytecode_cache=TemplateCache(kept_in, version) if kept_in else None)
    env.newstyle_gettext = True  # type: ignore[attr-defined]
    env.globals |= {
        "_": gettext,
        "gettext": gettext,
        "ngettext": ngettext,
        "pgettext": pgettext,
        "gap": sentences.sentence_gap,
        "language": language,
        "languages": languages,
        "zone": lambda: zones.describe_zone(clock.now_ms()),
        "url": url,
        "url_or_none": url_or_none,
        "addresses": addresses,
        "static": static,
        "querystring": querystring,
        "htmx_script": htmx_script,
        "heroicon": icon,
        "build_menus": navigation.build_menus,
        "state_of": states.get_state,
        "ui": Components(env),
    }
    env.filters |= formatting.FILTERS | {"truncatechars": defaultfilters.truncatechars}
    env.filters |= {"readable": readable, "fill_lines": fill_lines, "one_line": one_line, "quoted": quoted}
    for place in filters:
        env.filters |= import_string(place)
    return env


def create_csrf_input(request):
    """The context of a page with one `csrf_input` for all of its forms: Django's makes a token for each."""
    return {"csrf_input": SimpleLazyObject(lambda: csrf_input(request))}


def compile_all() -> None:
    """Compile every template of ours, or load its code.

    Code of other versions is removed.
    """
    env = engines["jinja2"].env
    for name in env.list_templates():
        env.get_template(name)
    if env.bytecode_cache:
        env.bytecode_cache.tidy()


def gettext(text, /, **values):
    """A text in the language of the request.

    The text itself is HTML, as templates are; values are escaped.
    """
    translated = _translate(text, translation.get_language())
    return translated % values if values else translated


def ngettext(singular, plural, number, /, **values):
    """The singular or the plural of a text, in the language of the request."""
    return Markup(translation.ngettext(singular, plural, number)) % {"num": number, **values}  # noqa: S704 - ours


def pgettext(context, text, /):
    """A text with a context that tells its meaning: `pgettext("how many", "Versions")`."""
    return Markup(translation.pgettext(context, text))  # noqa: S704 - ours


@lru_cache(maxsize=4_000)
def _translate(text, _language):
    translated = translation.gettext(text)
    return Markup(translated if "%(" in translated else translated.replace("%%", "%"))  # noqa: S704 - ours


def language():
    """The language of the page as HTML names it: `zh-Hans`."""
    return _tag(translation.get_language() or settings.LANGUAGE_CODE)


def languages():
    """The available languages as (code, HTML's tag, name in that language)."""
    return [(code, _tag(code), name) for code, name in settings.LANGUAGES]


def _tag(code):
    return translation.to_locale(code).replace("_", "-")


def url(route, *args, **kwargs):
    """The address of a route."""
    return reverse(route, args=args, kwargs=kwargs)


def url_or_none(route, *args, **kwargs):
    """The address of a route, or None when no address can hold the name.

    Names of files and sessions may hold any character.
    """
    try:
        return reverse(route, args=args, kwargs=kwargs)
    except NoReverseMatch:
        return None


def addresses(route):
    """A function from a name to its address, for the rows of a list.

    The route is resolved only once.
    """
    before, _name, after = reverse(route, args=["\0"]).partition("%00")
    return lambda name: f"{before}{quoted(name)}{after}"


def querystring(query, **changes):
    """A query, or that of a request, with some changes; None removes a name.

    Like Django's template tag of that name.
    """
    query = getattr(query, "GET", query).copy()
    for name, value in changes.items():
        if value is None:
            query.pop(name, None)
        else:
            query[name] = value
    return f"?{query.urlencode()}" if query else "?"


def readable(text):
    """Escape a text for HTML, with hidden characters as small codes."""
    return glyphs.to_html(text or "")


def fill_lines(markup, rows, ending, describe_rest):
    """The unchanged `rows` of a diff, each as `markup` with its numbers and its text in place of `%(old)s` and others.

    A loop of the template would escape each of them by itself, which takes five times as long.
    """
    rows = list(rows)
    pieces = [row.old.pieces(ending)[0] for row in rows]
    texts = glyphs.to_html_lines([piece[0] for piece in pieces])
    drawn = ""
    for row, (_text, _is_marked, left_out, _rest), text in zip(rows, pieces, texts, strict=True):
        line_html = f"{text}{describe_rest(left_out) if left_out else ''}"
        drawn += str.__mod__(markup, {"old": row.old.number, "new": row.new.number, "text": line_html})
    return Markup(drawn)  # noqa: S704 - the markup of a macro, numbers and escaped texts


def one_line(text):
    """A text on one line without hidden characters, for titles and attributes."""
    return glyphs.to_one_line(text or "")


def quoted(name):
    """A name quoted as one piece of a path."""
    return quote(name, safe="")


def icon(name, *, size=24, **attrs):
    """The <svg> of a heroicons icon; `attrs` become its attributes, `class_` its class.

    Drawn icons are cached: the library reads XML every time, and a page has about 17 icons.
    """
    return _draw_icon(name, size, tuple(sorted((name.rstrip("_"), value) for name, value in attrs.items())))


@lru_cache(maxsize=512)
def _draw_icon(name, size, attrs):
    return draw(name, size=size, **dict(attrs))
