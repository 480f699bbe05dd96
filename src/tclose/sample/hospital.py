"""A made-up hospital table of any length; equal seeds give equal rows, however many there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from tclose.arrays import Flags, Ints
from tclose.errors import UsageError
from tclose.sample.diagnosis import AGE_EDGES, DISEASES, ETHNICITIES, REGIONS, SEXES, risk_table

BLOCK = 100_000
"""The rows per block; each block has its own seed, and only one is in memory at a time."""

HOSPITAL_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("national_id", pa.string()),
        ("birth_date", pa.date32()),
        ("sex", pa.string()),
        ("postcode", pa.string()),
        ("admission_date", pa.date32()),
        ("ethnicity", pa.string()),
        ("diagnosis", pa.string()),
        ("length_of_stay", pa.int64()),
        ("cost", pa.decimal128(10, 2)),
    ]
)

_MISSING = {
    "birth_date": 0.003,
    "postcode": 0.01,
    "ethnicity": 0.04,
    "diagnosis": 0.003,
    "length_of_stay": 0.005,
}

_FIRST_DAY = int(np.datetime64("2023-01-01", "D").astype(np.int64))
_DAYS = 731  # 2023 and the leap year 2024

# Rounded up, so that everybody in the band from 15 on has had that birthday.
_BAND_EDGES = np.ceil(np.array(AGE_EDGES) * 365.25).astype(np.int64)
_BAND_WEIGHTS = (6, 5, 7, 11, 11, 12, 15, 16, 12, 5, 0.03)
_FEMALE_BY_BAND = (0.46, 0.47, 0.55, 0.60, 0.55, 0.48, 0.47, 0.49, 0.55, 0.66, 0.80)
_SEX_UNSPECIFIED = 0.003
_STAY_BY_BAND = np.array((0.8, 0.7, 0.8, 0.85, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6, 1.6))
_LONGEST_STAY = 180

_REGION_WEIGHTS = (20, 30, 16, 14, 12, 8)
_ETHNICITY_BY_REGION = (
    (70, 10, 10, 6, 3.9, 0.1),
    (55, 18, 12, 10, 4.9, 0.1),
    (66, 14, 8, 7, 4.9, 0.1),
    (52, 24, 10, 9, 4.9, 0.1),
    (80, 6, 8, 4, 1.9, 0.1),
    (84, 4, 6, 3, 2.6, 0.4),
)
_DISTRICTS = 6
_OFFICES = 12

# Region digit, district digit, office: "00100" is the first office of the first coastal district.
_POSTCODES = [
    f"{region}{district}{100 + 25 * office}"
    for region, district, office in product(*map(range, (len(REGIONS), _DISTRICTS, _OFFICES)))
]

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

_GIVEN_NAMES = [first + last for first, last in product(_GIVEN_START, _GIVEN_END)]
_FAMILY_NAMES = [first + last for first, last in product(_FAMILY_START, _FAMILY_END)]

NUMBERS = 1_000_000_000
"""The number of different national numbers."""

# Coprime to NUMBERS, so that stepping by it visits every number once before repeating any.
_STRIDE = 618_033_989
_DIGIT_AT = (0, 1, 2, 4, 5, 6, 8, 9, 10)
_WIDTH = 13

_BITS = 32
_FULL = 1 << _BITS


def hospital(rows: int = 10_000, seed: int = 1) -> pa.Table:
    """Returns the first `rows` rows of the made-up hospital of this seed.

    >>> table = hospital(rows=1_000)
    >>> table.num_rows, table.num_columns
    (1000, 10)
    >>> table.slice(0, 10).equals(hospital(rows=10))
    True
    """
    return pa.Table.from_batches(hospital_blocks(rows, seed), schema=HOSPITAL_SCHEMA)


def hospital_blocks(rows: int, seed: int = 1) -> Iterator[pa.RecordBatch]:
    """Yields the rows of `hospital` in blocks, so that the table need not fit in memory.

    >>> [block.num_rows for block in hospital_blocks(250_000)]
    [100000, 100000, 50000]
    """
    if not 0 <= rows <= NUMBERS:
        raise UsageError(
            f"{rows} rows cannot be made", where="hospital", hint=f"ask for 0 to {NUMBERS} rows"
        )
    if seed < 0:
        raise UsageError("the seed must not be negative", where="hospital", hint="use 0 or more")
    return (
        _draw_block(seed, first // BLOCK).slice(0, min(BLOCK, rows - first))
        for first in range(0, rows, BLOCK)
    )


@cache
def _make_samplers() -> dict[str, Sampler]:
    women = np.array(_FEMALE_BY_BAND) * (1 - _SEX_UNSPECIFIED)
    unspecified = np.full_like(women, _SEX_UNSPECIFIED)
    weights: dict[str, ArrayLike] = {
        "band": _BAND_WEIGHTS,
        "sex": np.stack([women, 1 - unspecified - women, unspecified], axis=1),
        "region": _REGION_WEIGHTS,
        "district": 1 / np.arange(1, _DISTRICTS + 1),
        "office": 1 / np.arange(1, _OFFICES + 1),
        "ethnicity": _ETHNICITY_BY_REGION,
        "disease": risk_table().reshape(-1, len(DISEASES)),
    }
    return {name: Sampler.from_weights(each) for name, each in weights.items()}


def _draw_block(seed: int, index: int) -> pa.RecordBatch:
    """Draws one block: persons, places, diseases, stays and costs."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, index])))
    samplers, anyone = _make_samplers(), np.zeros(BLOCK, dtype=np.int64)

    band = samplers["band"].draw(rng, anyone)
    sex = samplers["sex"].draw(rng, band)
    region = samplers["region"].draw(rng, anyone)
    district = samplers["district"].draw(rng, anyone)
    office = samplers["office"].draw(rng, anyone)
    postcode = (region * _DISTRICTS + district) * _OFFICES + office
    ethnicity = samplers["ethnicity"].draw(rng, region)
    stratum = ((band * len(SEXES) + sex) * len(REGIONS) + region) * len(ETHNICITIES)
    disease = samplers["disease"].draw(rng, stratum + ethnicity)
    admission = _FIRST_DAY + rng.integers(0, _DAYS, size=BLOCK)
    birth = admission - rng.integers(_BAND_EDGES[band], _BAND_EDGES[band + 1])
    stay = _draw_stay(rng, disease, band)
    cents = _draw_cents(rng, disease, stay)

    missing = {name: rng.random(BLOCK) < share for name, share in _MISSING.items()}
    columns = [
        _draw_names(rng),
        _number_nationally(seed, index),
        _dates(birth, missing["birth_date"]),
        _words(SEXES, sex),
        _words(_POSTCODES, postcode, missing["postcode"]),
        _dates(admission),
        _words(ETHNICITIES, ethnicity, missing["ethnicity"]),
        _words([each.name for each in DISEASES], disease, missing["diagnosis"]),
        pa.array(stay, mask=missing["length_of_stay"]),
        _money(cents),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=HOSPITAL_SCHEMA)


def _draw_stay(rng: np.random.Generator, disease: Ints, band: Ints) -> Ints:
    """Draws days in hospital: log-logistic around the disease's median, longer for the old."""
    median = np.array([each.days for each in DISEASES])[disease] * _STAY_BY_BAND[band]
    share = rng.random(BLOCK)
    days = np.rint(median * np.sqrt(np.sqrt(share / (1 - share))))
    whole: Ints = np.clip(days, 1, _LONGEST_STAY).astype(np.int64)
    return whole


def _draw_cents(rng: np.random.Generator, disease: Ints, stay: Ints) -> Ints:
    """Draws the bill: treatment and days, each with its own random factor."""
    price = np.array([each.price for each in DISEASES])[disease]
    treatment = price * (0.7 + 0.6 * rng.random(BLOCK))
    lodging = stay * (320 + 160 * rng.random(BLOCK))
    return np.rint(100 * (treatment + lodging)).astype(np.int64)


def _words(words: Sequence[str], index: Ints, missing: Flags | None = None) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(index, mask=missing))


def _dates(days: Ints, missing: Flags | None = None) -> pa.Array:
    return pa.array(days.astype(np.int32), mask=missing).cast(pa.date32())


def _money(cents: Ints) -> pa.Array:
    """Converts cents to decimals: a 128-bit decimal is the little-endian pair (cents, 0)."""
    pairs = np.zeros((len(cents), 2), dtype="<i8")
    pairs[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(10, 2), len(cents), [None, pa.py_buffer(pairs)])


# --- draws


@dataclass(frozen=True)
class Sampler:
    """Draws categories by weights, for several conditions at once.

    All conditions are on one number line: condition `c` has the whole numbers from `c * 2**32` up
    to `(c + 1) * 2**32`, divided among categories in proportion to their weights. A draw is one
    number and one binary search. Whole numbers make the edges exact: a category of weight zero has
    no number, so it is never drawn, and no draw gets into the next condition.
    """

    ends: Ints
    categories: int

    @classmethod
    def from_weights(cls, weights: ArrayLike) -> Sampler:
        """Makes a sampler from a table of weights, one row per condition."""
        table = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        running = np.cumsum(table, axis=1)
        ends = np.rint(running / running[:, -1:] * _FULL).astype(np.int64)
        starts = np.arange(len(table), dtype=np.int64)[:, None] << _BITS
        return cls((ends + starts).ravel(), table.shape[1])

    def draw(self, rng: np.random.Generator, condition: Ints) -> Ints:
        """Draws one category for each entry of `condition`.

        >>> sampler = Sampler.from_weights([[1, 0], [0, 1]])
        >>> sampler.draw(np.random.default_rng(1), np.array([0, 1, 1, 0])).tolist()
        [0, 1, 1, 0]
        """
        number = rng.integers(0, _FULL, size=len(condition), dtype=np.int64)
        slot = np.searchsorted(self.ends, (condition << _BITS) + number, side="right")
        return slot.astype(np.int64, copy=False) - condition * self.categories


def _draw_names(rng: np.random.Generator) -> pa.StringArray:
    """Draws full names, each a made-up given name and a made-up family name."""
    names = (_GIVEN_NAMES, _FAMILY_NAMES)
    drawn = (_words(known, rng.integers(0, len(known), size=BLOCK)) for known in names)
    return pc.binary_join_element_wise(*drawn, " ")


def _number_nationally(seed: int, index: int) -> pa.StringArray:
    """Makes the national numbers of a block: nine digits and a check digit.

    No number occurs twice among the first `NUMBERS` rows. The check digit makes the sum of all
    ten, weighted 3, 1, 3, 1, …, 3, 1, a multiple of ten.
    """
    start = int(np.random.SeedSequence(seed).generate_state(1)[0]) % NUMBERS
    row = index * BLOCK + np.arange(BLOCK, dtype=np.int64)
    number = (row * _STRIDE + start) % NUMBERS
    text = np.full((BLOCK, _WIDTH), ord("-"), dtype=np.uint8)
    check = np.zeros(BLOCK, dtype=np.int64)
    for place in reversed(range(9)):
        number, digit = np.divmod(number, 10)
        text[:, _DIGIT_AT[place]] = digit + ord("0")
        check += digit * (3 if place % 2 == 0 else 1)
    text[:, _WIDTH - 1] = -check % 10 + ord("0")
    offsets = np.arange(0, (BLOCK + 1) * _WIDTH, _WIDTH, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), BLOCK, buffers)
