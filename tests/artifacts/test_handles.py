import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts import handles

HEX = "0123456789abcdef" * 4
HANDLE = f"ocm_artifact:v1:sha256:{HEX}"


def test_it_works():
    assert handles.parse(HANDLE) == HEX
    assert handles.from_sha256(HEX) == HANDLE


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEX,
        HANDLE.upper(),
        HANDLE[:-1] + "F",
        HANDLE[:-1],
        HANDLE + "0",
        HANDLE + "\n",
        " " + HANDLE,
        HANDLE.replace("v1", "v2"),
        HANDLE.replace("sha256", "sha512"),
        HANDLE.replace("o", "о", 1),  # Cyrillic
        HANDLE.replace("0", "٠", 1),  # an Arabic zero
        HANDLE.replace("0", "０", 1),  # a wide zero
        HANDLE[:-8] + "../../..",
        HANDLE[:-1] + "\0",
        HANDLE[:-1] + "\ud800",
        HANDLE * 1000,
        None,
        7,
        HANDLE.encode(),
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(handles.NotAHandle):
        handles.parse(text)


@given(st.text(max_size=120))
def test_no_text_breaks_it(text):
    with pytest.raises(handles.NotAHandle):
        handles.parse(text)


@given(st.binary(min_size=32, max_size=32))
def test_it_goes_both_ways(digest):
    assert handles.parse(handles.from_sha256(digest.hex())) == digest.hex()


@given(st.integers(0, len(HANDLE) - 1), st.characters(codec="utf-8"))
def test_one_other_character_makes_another_handle_or_none(place, char):
    text = HANDLE[:place] + char + HANDLE[place + 1 :]
    try:
        assert handles.from_sha256(handles.parse(text)) == text
    except handles.NotAHandle:
        assert text != HANDLE


@pytest.mark.parametrize("sha256", ["", HEX[:-1], HEX.upper(), HEX + "0", "../" + HEX[3:]])
def test_a_hash_is_checked_as_well(sha256):
    with pytest.raises(handles.NotAHandle):
        handles.from_sha256(sha256)


def test_handles_are_found_in_a_text():
    text = f"see {HANDLE}, {HANDLE}. Not {HANDLE}0 nor x{HANDLE} nor {HANDLE[:-1]}"
    assert list(handles.find_handles(text)) == [HANDLE, HANDLE]
