import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from .disk import home

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openclaw_web.settings")
application = get_wsgi_application()
home.enter(settings.HOME_DIR)  # as long as this process lives, whatever server it belongs to
