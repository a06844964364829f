"""URLs of the page benchmark: those of the product, and the page floor."""

from django.http import HttpResponse
from django.template import engines
from django.urls import include, path

ROWS = [(f"Session number {n}", "telegram", n % 40, n % 400, n * 977, n / 70, n % 3, "3 hours ago") for n in range(50)]
TABLE = """<!doctype html><title>{{ user }}</title>
<table>
  {% for row in rows %}
    <tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
  {% endfor %}
</table>
"""


def floor(request):
    """Render 50 constant rows, behind the same middleware and login as every page."""
    template = engines["django"].from_string(TABLE) if not hasattr(floor, "template") else floor.template
    floor.template = template
    return HttpResponse(template.render({"rows": ROWS}, request))


urlpatterns = [path("floor/", floor), path("", include("openclaw_web.urls"))]
