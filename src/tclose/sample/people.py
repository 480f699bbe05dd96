"""Names and national numbers that belong to nobody."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_GIVEN_START = (
    "Al Be Bri Ca Cor Da Del Do El Eri Fa Fen Ga Gil Ha Hol Ily Iso Ja Jor Ka Kel La Lio Ma Mir "
    "Na Nol O Ori Pa Pel Qui Ra Ros Sa Sil Ta Tev U Va Wen Xa Ya Zel"
).split()
_GIVEN_END = (
    "bera da dric fia lan lie lor mina nan nor phis ra rek rin sa selle tan thea vik wyn"
).split()
_FAMILY_START = (
    "Ald Bark Bren Carv Crad Dorn Dusk Eld Ember Fald Fern Gar Glen Hald Hask Ing Ivar Jarl Kest "
    "Krag Lund Lyr Marr Moor Nev Nor Ost Othal Pell Quar Rav Rusk Sarn Stel Thal Tor Ulv Urd Vask "
    "Venn Wald Wex Yar Yst Zand"
).split()
_FAMILY_END = (
    "acre aby bridge by cott croft dale den ersk feld ford garth gate ham holt ick ing lake ley "
    "low mark mere mond ness ow quist rod sen shaw skar sted stow thorn ton vale ward wick wold"
).split()

GIVEN_NAMES = pa.array([first + last for first, last in product(_GIVEN_START, _GIVEN_END)])
FAMILY_NAMES = pa.array([first + last for first, last in product(_FAMILY_START, _FAMILY_END)])

NUMBERS = 1_000_000_000
"""How many different national numbers there are."""

# Coprime to NUMBERS, so that stepping by it visits every number once before any comes back.
_STRIDE = 618_033_989
_DIGIT_AT = (0, 1, 2, 4, 5, 6, 8, 9, 10)
_WIDTH = 13


def draw_names(rng: np.random.Generator, count: int) -> pa.StringArray:
    """Draw full names, each a made-up given name and a made-up family name.

    >>> draw_names(np.random.default_rng(1), 2).type
    DataType(string)
    """
    given = GIVEN_NAMES.take(pa.array(rng.integers(0, len(GIVEN_NAMES), size=count)))
    family = FAMILY_NAMES.take(pa.array(rng.integers(0, len(FAMILY_NAMES), size=count)))
    return pc.binary_join_element_wise(given, family, " ")


def national_ids(first_row: int, count: int, seed: int) -> pa.StringArray:
    """The national numbers of `count` rows from `first_row` on: nine digits and a check digit.

    No number occurs twice among the first `NUMBERS` rows. The check digit makes the sum of all
    ten, weighted 3, 1, 3, 1, …, 3, 1, a multiple of ten.

    >>> national_ids(0, 2, seed=1).to_pylist() == national_ids(0, 9, seed=1).to_pylist()[:2]
    True
    """
    start = int(np.random.SeedSequence(seed).generate_state(1)[0]) % NUMBERS
    row = np.arange(first_row, first_row + count, dtype=np.int64)
    number = (row * _STRIDE + start) % NUMBERS
    text = np.full((count, _WIDTH), ord("-"), dtype=np.uint8)
    check = np.zeros(count, dtype=np.int64)
    for place in reversed(range(9)):
        number, digit = np.divmod(number, 10)
        text[:, _DIGIT_AT[place]] = digit + ord("0")
        check += digit * (3 if place % 2 == 0 else 1)
    text[:, _WIDTH - 1] = -check % 10 + ord("0")
    return _fixed_width(text)


def _fixed_width(text: NDArray[np.uint8]) -> pa.StringArray:
    count, width = text.shape
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), count, buffers)
