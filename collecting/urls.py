from django.urls import path

from . import views

app_name = "collecting"
urlpatterns = [
    path("operations/collect/", views.collect_start, name="collect_start"),
    path("operations/folder/", views.folder_choose, name="folder_choose"),
    path("operations/folder/import/", views.folder_import, name="folder_import"),
    path("operations/imports/", views.import_summary, name="import_summary"),
    path("operations/rejected/", views.rejected_list, name="rejected_list"),
    path("operations/skipped/", views.skipped_list, name="skipped_list"),
]
