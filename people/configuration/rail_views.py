"""Whether the rail shows its labels or only its icons: kept by the browser, as screens differ."""

from django.urls import reverse
from django.views.decorators.http import require_POST

from openclaw_web.pages import navigation
from openclaw_web.pages.html import read_next_address, redirect_to, render_page
from openclaw_web.pages.roles import needs

YEAR_S = 365 * 86_400


@require_POST
@needs("viewer")
def rail_fold(request):
    """Show only the icons of the rail, or its labels again: the rail itself for HTMX, else the page it stood on."""
    how = "slim" if request.POST.get("rail") == "slim" else "wide"
    back = read_next_address(request, reverse("overview:overview"))
    request.COOKIES[navigation.COOKIE] = how
    if request.htmx:
        response = render_page(request, "people/rail_fold.html", {"rail": navigation.build_rail(request, back)})
    else:
        response = redirect_to(request, back)
    secure = request.is_secure()
    response.set_cookie(navigation.COOKIE, how, YEAR_S, secure=secure, httponly=True, samesite="Lax")
    return response
