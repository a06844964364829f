"""Chooses the side of the split that a session is on.

It is decided by what the session says, so that its names do not matter.
"""

TRAIN, VALIDATION, TEST = SIDES = ("train", "validation", "test")
NEARLY_ONE = 1 - 1e-9  # 0.1 and 0.9 need not come to 1


def choose_side(key: int, *, train: float, validation: float = 0.0) -> str:
    """The side that a number of 64 bits falls on.

    Evenly spread numbers fill the sides by their shares.
    """
    place = (key >> 11) * 2.0**-53  # the bits that a float holds: never rounded up to 1
    if place < train:
        return TRAIN
    bound = train + validation
    return VALIDATION if place < bound or (validation and bound >= NEARLY_ONE) else TEST


def list_sides(validation: float) -> tuple[str, ...]:
    """The sides that an export has, filled or empty."""
    return SIDES if validation else (TRAIN, TEST)
