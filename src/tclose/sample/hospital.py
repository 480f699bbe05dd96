"""A made-up hospital table of any length: equal seed, equal rows, however many are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.errors import UsageError
from tclose.sample.diagnosis import AGE_EDGES, DISEASES, ETHNICITIES, SEXES, risk_table
from tclose.sample.people import NUMBERS, draw_names, national_ids
from tclose.sample.wheel import Wheel

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

BLOCK = 100_000
"""Rows are drawn in blocks of this many, each from its own seed; only one is held at a time."""

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

# Rounded up, so that whoever is drawn into the band from 15 on has had that birthday.
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
    for region in range(len(_REGION_WEIGHTS))
    for district in range(_DISTRICTS)
    for office in range(_OFFICES)
]


def hospital(rows: int = 10_000, seed: int = 1) -> pa.Table:
    """The first `rows` rows of the made-up hospital that belongs to `seed`.

    >>> table = hospital(rows=1_000)
    >>> table.num_rows, table.num_columns
    (1000, 10)
    >>> table.slice(0, 10).equals(hospital(rows=10))
    True
    """
    return pa.Table.from_batches(hospital_blocks(rows, seed), schema=HOSPITAL_SCHEMA)


def hospital_blocks(rows: int, seed: int = 1) -> Iterator[pa.RecordBatch]:
    """The same rows, one block after another, so that the whole never has to fit in memory.

    >>> [block.num_rows for block in hospital_blocks(250_000)]
    [100000, 100000, 50000]
    """
    if not 0 <= rows <= NUMBERS:
        raise UsageError(
            f"{rows} rows cannot be made",
            where="hospital",
            hint=f"ask for 0 to {NUMBERS} rows",
        )
    if seed < 0:
        raise UsageError("the seed is negative", where="hospital", hint="use 0 or more")
    return (
        _block(seed, first // BLOCK).slice(0, min(BLOCK, rows - first))
        for first in range(0, rows, BLOCK)
    )


@dataclass(frozen=True)
class _Wheels:
    band: Wheel
    sex: Wheel
    region: Wheel
    district: Wheel
    office: Wheel
    ethnicity: Wheel
    disease: Wheel


@cache
def _wheels() -> _Wheels:
    women = np.array(_FEMALE_BY_BAND) * (1 - _SEX_UNSPECIFIED)
    unspecified = np.full_like(women, _SEX_UNSPECIFIED)
    return _Wheels(
        band=Wheel.from_weights(_BAND_WEIGHTS),
        sex=Wheel.from_weights(np.stack([women, 1 - unspecified - women, unspecified], axis=1)),
        region=Wheel.from_weights(_REGION_WEIGHTS),
        district=Wheel.from_weights(1 / np.arange(1, _DISTRICTS + 1)),
        office=Wheel.from_weights(1 / np.arange(1, _OFFICES + 1)),
        ethnicity=Wheel.from_weights(_ETHNICITY_BY_REGION),
        disease=Wheel.from_weights(risk_table().reshape(-1, len(DISEASES))),
    )


def _block(seed: int, index: int) -> pa.RecordBatch:
    """Draw one whole block: who comes, from where, with what, for how long and at what cost."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, index])))
    wheels, anyone = _wheels(), np.zeros(BLOCK, dtype=np.int64)

    band = wheels.band.spin(rng, anyone)
    sex = wheels.sex.spin(rng, band)
    region = wheels.region.spin(rng, anyone)
    district = wheels.district.spin(rng, anyone)
    office = wheels.office.spin(rng, anyone)
    postcode = (region * _DISTRICTS + district) * _OFFICES + office
    ethnicity = wheels.ethnicity.spin(rng, region)
    stratum = ((band * len(SEXES) + sex) * len(_REGION_WEIGHTS) + region) * len(ETHNICITIES)
    disease = wheels.disease.spin(rng, stratum + ethnicity)
    admission = _FIRST_DAY + rng.integers(0, _DAYS, size=BLOCK)
    birth = admission - _age_in_days(rng, band)
    stay = _stay(rng, disease, band)
    cents = _cents(rng, disease, stay)

    missing = {name: rng.random(BLOCK) < share for name, share in _MISSING.items()}
    columns = [
        draw_names(rng, BLOCK),
        national_ids(index * BLOCK, BLOCK, seed),
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


def _age_in_days(rng: np.random.Generator, band: Indices) -> Indices:
    return rng.integers(_BAND_EDGES[band], _BAND_EDGES[band + 1])


def _stay(rng: np.random.Generator, disease: Indices, band: Indices) -> Indices:
    """Days in hospital: log-logistic around the disease's median, longer for the old."""
    median = np.array([each.days for each in DISEASES])[disease] * _STAY_BY_BAND[band]
    share = rng.random(BLOCK)
    days = np.rint(median * np.sqrt(np.sqrt(share / (1 - share))))
    whole: Indices = np.clip(days, 1, _LONGEST_STAY).astype(np.int64)
    return whole


def _cents(rng: np.random.Generator, disease: Indices, stay: Indices) -> Indices:
    """The bill: the treatment and the days, each with its own accident."""
    price = np.array([each.price for each in DISEASES])[disease]
    treatment = price * (0.7 + 0.6 * rng.random(BLOCK))
    lodging = stay * (320 + 160 * rng.random(BLOCK))
    return np.rint(100 * (treatment + lodging)).astype(np.int64)


def _words(words: Sequence[str], index: Indices, missing: Mask | None = None) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(index, mask=missing))


def _dates(days: Indices, missing: Mask | None = None) -> pa.Array:
    return pa.array(days.astype(np.int32), mask=missing).cast(pa.date32())


def _money(cents: Indices) -> pa.Array:
    """Cents as decimals: a 128-bit decimal is the little-endian pair (cents, 0)."""
    pairs = np.zeros((len(cents), 2), dtype="<i8")
    pairs[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(10, 2), len(cents), [None, pa.py_buffer(pairs)])
