"""Our templates: Jinja2 behind Django's template API. `page.html#block` names one block of a page, for HTMX.

Everything that templates can use is named here, but for the filters of apps: settings.TEMPLATES names those.
"""

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.template import defaultfilters, engines
from django.template.backends.jinja2 import Jinja2, Template
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils import translation
from django.utils.module_loading import import_string
from django_htmx.jinja import htmx_script
from heroicons.templatetags.heroicons import heroicon_outline as draw
from jinja2 import Environment, StrictUndefined
from jinja2.ext import Extension
from jinja2.runtime import Macro
from markupsafe import Markup

from .. import clock
from . import formatting, glyphs, navigation, states, zones
from .template_cache import TemplateCache

# A text that ends with a mark, and the space behind it: Chinese writes none behind “：” or “。”.
TEXT = r"\{\{-? ?_\(\"[^\"{}]*[.:,;!?]\"(?:, [^{}]*)?\) ?\}\}"
TRANSLATED = r"[.:,;!?]\{% ?endtrans ?%\}"
CLOSED = r"(?:</(?:span|strong|small|b|a)>|\{% ?(?:endif|if [^%]*)%\})*"
SPACE = re.compile(rf"((?:{TEXT}|{TRANSLATED}){CLOSED})(?: +(?=\S)|(\s+)(?=\{{\{{ ?_\())")


class Gaps(Extension):
    """Such a space becomes `{{ gap() }}` before a template is compiled; lines keep their numbers."""

    def preprocess(self, source, name, filename=None):
        """The source with spaces as the language writes them."""
        return SPACE.sub(lambda hit: f"{hit[1]}{{{{ gap(){hit[2] or ''}}}}}", source)


class Templates(Jinja2):
    """Django's backend; the name of a template may end with the block that is wanted."""

    def get_template(self, template_name):
        name, _hash, block = template_name.partition("#")
        template = super().get_template(name)
        return Template(_only(template.template, block), self) if block else template


def _only(template, block):
    """A template that is one block of another, or one that the other inherits."""

    def render(context, *_args):
        next(template.root_render_func(context), None)  # up to the first output: imports and `set` above the blocks
        yield from context.blocks[block][0](context)

    part = object.__new__(type(template))  # Jinja2's templates cannot be copied otherwise
    vars(part).update(vars(template), root_render_func=render)
    return part


class Components:
    """The macros of templates/ui/, by their names and without an import: `{{ ui.badge(_("Ready"), tone="ok") }}`.

    They see their arguments and nothing else of a page, and are made once per process.
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
        return {name: made for module in modules for name, made in module.items() if isinstance(made, Macro)}


def environment(
    *,
    filters: Iterable[str] = (),
    kept_in: Path | None = None,
    cls: type[Environment] = Environment,
    **options,
) -> Environment:
    """What every template can use.

    `filters` are the places of more of them: dictionaries, as dotted names. What is compiled is kept in `kept_in`.
    """
    # Not optimized: filters of constants would be run while compiling, and what is kept would outlive their code.
    options |= {"undefined": StrictUndefined, "extensions": ["jinja2.ext.i18n", Gaps], "optimized": False}
    options |= {"trim_blocks": True, "lstrip_blocks": True}
    # What is compiled also depends on what Gaps reads.
    about = [SPACE.pattern, *sorted((name, str(value)) for name, value in options.items() if name != "loader")]
    env = cls(**options, bytecode_cache=TemplateCache(kept_in, about) if kept_in else None)
    env.newstyle_gettext = True  # type: ignore[attr-defined]
    env.globals |= _names() | {"ui": Components(env)}
    env.filters |= formatting.FILTERS | {"truncatechars": defaultfilters.truncatechars}
    env.filters |= {"readable": readable, "one_line": one_line, "quoted": quoted}
    for place in filters:
        env.filters |= import_string(place)
    return env


def _names():
    return {
        "_": gettext,
        "gettext": gettext,
        "ngettext": ngettext,
        "pgettext": pgettext,
        "gap": formatting.sentence_gap,
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
        "rail": navigation.build_rail,
        "agent_groups": navigation.build_agent_groups,
        "state_of": states.get_state,
        "system_groups": navigation.build_system_groups,
    }


def compile_all() -> None:
    """Compile every template of ours, or read its code, and remove what was kept of other versions."""
    env = engines["jinja2"].env
    for name in env.list_templates():
        env.get_template(name)
    if env.bytecode_cache:
        env.bytecode_cache.tidy()


def gettext(text, /, **values):
    """A text in the language of the request. The text is HTML as templates are; values are escaped."""
    found = _remembered(text, translation.get_language())
    return found % values if values else found


def ngettext(one, many, number, /, **values):
    """The same for a number of things."""
    return Markup(translation.ngettext(one, many, number)) % {"num": number, **values}  # noqa: S704 - ours


def pgettext(context, text, /):
    """A text that means something else where it stands: `pgettext("how many", "Versions")`."""
    return Markup(translation.pgettext(context, text))  # noqa: S704 - ours


@lru_cache(maxsize=4_000)
def _remembered(text, _language):
    found = translation.gettext(text)
    return Markup(found if "%(" in found else found.replace("%%", "%"))  # noqa: S704 - ours


def language():
    """The language of the page as HTML names it: `zh-Hans`."""
    return _tag(translation.get_language() or settings.LANGUAGE_CODE)


def languages():
    """The languages there are: their codes, what HTML calls them, and what their speakers do."""
    return [(code, _tag(code), name) for code, name in settings.LANGUAGES]


def _tag(code):
    return translation.to_locale(code).replace("_", "-")


def url(route, *args, **kwargs):
    """The address of a route."""
    return reverse(route, args=args, kwargs=kwargs)


def url_or_none(route, *args, **kwargs):
    """The address of a route, none where there is none: names of files and sessions may be ones no address can hold."""
    try:
        return reverse(route, args=args, kwargs=kwargs)
    except NoReverseMatch:
        return None


def addresses(route):
    """A function from a name to its address, for the rows of a list: the route is looked up once."""
    before, _name, after = reverse(route, args=["\0"]).partition("%00")
    return lambda name: f"{before}{quoted(name)}{after}"


def querystring(query, **changes):
    """A query, or that of a request, with some changes; None takes a name away. As Django's tag of that name."""
    query = getattr(query, "GET", query).copy()
    for name, value in changes.items():
        if value is None:
            query.pop(name, None)
        else:
            query[name] = value
    return f"?{query.urlencode()}" if query else "?"


def readable(text):
    """A text whose hidden characters are shown as small codes."""
    return glyphs.to_html(text or "")


def one_line(text):
    """A text on one line without hidden characters, for titles and attributes."""
    return glyphs.to_one_line(text or "")


def quoted(name):
    """A name as one piece of a path."""
    return quote(name, safe="")


def icon(name, *, size=24, **attrs):
    """The <svg> of an icon; `attrs` become its attributes, `class_` its class."""
    return _drawn(name, size, tuple(sorted((name.rstrip("_"), value) for name, value in attrs.items())))


@lru_cache(maxsize=512)
def _drawn(name, size, attrs):
    return draw(name, size=size, **dict(attrs))
