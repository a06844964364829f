from .deciding import urls as deciding

app_name = "gate"
urlpatterns = [*deciding.urlpatterns]
