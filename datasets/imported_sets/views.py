"""The page on which operators import a judged set."""

from django.views.decorators.http import require_POST, require_safe

from openclaw_web.errors import Refused
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from .forms import ImportForm
from .service import import_set


@require_safe
@needs("operator")
def set_import(request):
    """The form."""
    return render_page(request, "datasets/set_import.html", {"form": ImportForm(), "receipt": None})


@require_POST
@needs("operator")
def set_import_add(request):
    """Import an uploaded file, and say what came of it."""
    form, receipt = ImportForm(request.POST, request.FILES), None
    if form.is_valid():
        fields = form.cleaned_data
        try:
            receipt = import_set(
                fields["file"], name=fields["name"], row_format=fields["format"], by=request.user.username
            )
        except Refused as refused:
            form.add_error(None, refused.sentence)
    context = {"form": form, "receipt": receipt}
    return render_page(request, "datasets/set_import.html", context, status=200 if receipt else 422)
