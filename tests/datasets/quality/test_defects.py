"""Each signal alone tells turns with its planted defect from clean ones, as well as it was measured.

The rules were written without the set. Its even half was read, and rules were corrected by it. The odd half was not
read: areas were computed three times, while rules for empty replies and for the wrong person were widened.
"""

import pytest

from tests.datasets.quality import defect_set

LEAST = 0.9  # area under the curve
REACHED = {False: {}, True: {"empty_reply": 0.88}}  # by half, where it is less


@pytest.mark.parametrize("is_odd", [False, True], ids=["even", "odd"])
def test_the_area_under_each_curve(is_odd):
    areas = {name: area for name, (area, _recall, _false) in defect_set.measure(is_odd=is_odd).items()}
    assert areas.keys() == set(defect_set.SIGNAL_OF.values())
    assert {name: area for name, area in areas.items() if area < REACHED[is_odd].get(name, LEAST)} == {}
