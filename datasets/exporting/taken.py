"""Whether another export has the data set name that a new one would get: their files could not lie side by side."""

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..exporters.files.naming import dataset_name
from ..models import DatasetExport
from .exports import NO_FILES
from .options import check_name


def check_dataset(name: str, kind: str) -> None:
    """Raises Refused when files of another export have the names that those of an export of this format would get.

    Names of exports that came to nothing are free.
    """
    wanted = dataset_name(check_name(name), kind)
    others = DatasetExport.objects.filter(export_format=kind).exclude(state__in=NO_FILES).order_by("exported_at", "id")
    for other in others.values_list("export_name", flat=True):
        if wanted == dataset_name(other, kind):
            sentence = _("The files of the export %(name)s would have the same names. Choose another name.")
            raise Refused(sentence % {"name": other})
