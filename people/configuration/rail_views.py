"""Folds the rail to its icons. The browser keeps the choice, because screens differ."""

from django.urls import reverse
from django.views.decorators.http import require_POST

from openclaw_web.pages import navigation
from openclaw_web.pages.html import read_next_address, redirect_to, render_page
from openclaw_web.pages.roles import needs

YEAR_S = 365 * 86_400


@require_POST
@needs("viewer")
def rail_fold(request):
    """Fold or unfold the rail: answer with the rail for HTMX, else redirect back."""
    width = "slim" if request.POST.get("rail") == "slim" else "wide"
    back = read_next_address(request, reverse("overview:overview"))
    request.COOKIES[navigation.COOKIE] = width
    if request.htmx:
        response = render_page(request, "people/rail_fold.html", {"menus": navigation.build_menus(request, back)})
    else:
        response = redirect_to(request, back)
    secure = request.is_secure()
    response.set_cookie(navigation.COOKIE, width, YEAR_S, secure=secure, httponly=True, samesite="Lax")
    return response
