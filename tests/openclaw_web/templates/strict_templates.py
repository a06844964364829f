"""Strict templates: printing or testing a method that is not called is an error.

Jinja2 prints such a method and takes it for true. Printing None is an error as well. Pages keep their context:
`response.context["rows"]` is the value that the view gave.
"""

import copy
from types import BuiltinMethodType, MethodType

from django.template.backends.jinja2 import Template
from django.test.signals import template_rendered
from jinja2 import Environment

from openclaw_web.pages import templates
from tests.suite import fixture_cache


class Templates(templates.Templates):
    """The backend of the site, whose pages can be asked for their context."""

    def get_template(self, template_name):
        return StrictTemplate(super().get_template(template_name).template, self)


class StrictTemplate(Template):
    """A template that reports its context to the test client."""

    def render(self, context=None, request=None):
        context = {} if context is None else context
        made = super().render(context, request)
        template_rendered.send(sender=self, template=self, context=copy.copy(context))
        return made


class Uncalled:
    """A method in a template, which must be called."""

    def __init__(self, method):
        self.method = method

    def __call__(self, *args, **kwargs):
        return self.method(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self.method, name)

    def _refuse(self, *_args):
        raise TypeError(f"{self.method.__qualname__} is a method: call it")

    __bool__ = __str__ = __iter__ = __len__ = __html__ = __eq__ = __lt__ = __gt__ = _refuse
    __hash__ = None


class Strict(Environment):
    """The environment with these checks."""

    def getattr(self, obj, attribute):
        value = super().getattr(obj, attribute)
        is_ours = isinstance(value, MethodType | BuiltinMethodType) and not isinstance(obj, str)
        return Uncalled(value) if is_ours else value


class NoneIsNoText:
    """Refuses None, which Jinja2 would print as `None`."""

    def __call__(self, value):
        if value is None:
            raise TypeError("None would be printed: say what stands for it")
        return value

    def __str__(self):
        return "strict"  # in every process: compiled templates are kept under the names of options


def environment(**options):
    """Returns the site's own environment with these checks; compiled templates outlive a run."""
    return templates.environment(cls=Strict, finalize=NoneIsNoText(), kept_in=fixture_cache.templates(), **options)
