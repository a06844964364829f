"""Each signal alone tells turns with its planted defect from clean ones.

Rules were written without the set. The even half was then read, and rules corrected by it; nobody read the odd half.
"""

import pytest

from tests.datasets.quality import defect_set

LEAST = 0.9  # area under the curve


@pytest.mark.parametrize("is_odd", [False, True], ids=["even", "odd"])
def test_the_area_under_each_curve(is_odd):
    figures = defect_set.measure(is_odd=is_odd)
    assert figures.keys() == set(defect_set.SIGNAL_OF.values())
    assert {name: area for name, (area, _recall, _false) in figures.items() if area < LEAST} == {}
