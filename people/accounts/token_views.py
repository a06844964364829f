"""Views of API tokens."""

from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import get_form_status, redirect_after_post
from openclaw_web.pages.roles import needs

from . import tokens as accounts_tokens
from .forms import TokenForm


@require_safe
@needs("viewer")
def token_list(request):
    """A person's tokens (an admin's: all tokens), with a form for another one."""
    return _render_token_list(request, TokenForm(owner=request.user))


@require_POST
@needs("viewer")
@never_cache
def token_make(request):
    """Create a token, and show it once."""
    form = TokenForm(request.POST, owner=request.user)
    if not form.is_valid():
        return _render_token_list(request, form)
    token, text = accounts_tokens.make_token(request.user, **form.cleaned_data)
    return render(request, "people/token_made.html", {"token": token, "text": text})


@require_POST
@needs("viewer")
def token_revoke(request, token_id):
    """Revoke a token of one's own; an admin may revoke any token."""
    token = get_object_or_404(accounts_tokens.visible_tokens(request.user), id=token_id)
    accounts_tokens.revoke_token(token, by=request.user.username)
    message = _("Token “%(name)s” revoked.") % {"name": token.name}
    return redirect_after_post(request, message, to=reverse("people:token_list"))


def _render_token_list(request, form):
    tokens = page_of(
        accounts_tokens.visible_tokens(request.user), order=("-created_at", "-id"), **read_cursors(request)
    )
    context = {"tokens": tokens, "form": form, "sees_all": request.user.has_role("admin")}
    return render(request, "people/token_list.html", context, status=get_form_status(form))
