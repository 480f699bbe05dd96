"""Suggests what a column is, and how it could be generalized, from its name and facts about it."""

from __future__ import annotations

import math
import re
from configparser import ConfigParser
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from unicodedata import normalize

from tclose.plain import write_number
from tclose.policy.cleaning import DecimalMark


def _read_pattern(role: str) -> re.Pattern[str]:
    """Makes a pattern of the words in column names that suggest a role (`column_words.ini`)."""
    listed = ConfigParser(interpolation=None)
    listed.read_string((resources.files("tclose.policy") / "column_words.ini").read_text("utf-8"))
    words, endings = (listed[role][key].split() for key in ("words", "endings"))
    alone = listed[role].get("alone", "-").split()
    parts = [word if len(word) > 3 else f"{word}(?=_|$)" for word in words]
    ending = rf"({'|'.join(endings)})(?=(s|n|en)?(_|$))"  # perhaps in the plural
    return re.compile(rf"(?:^|_)({'|'.join(parts)})|{ending}|^({'|'.join(alone)})$")


IDENTIFIER, SENSITIVE, QUASI = map(_read_pattern, ("identifier", "sensitive", "quasi"))
WEIGHT = re.compile(
    r"(^|_)(design|survey|sampl(e|ing)|analysis|final|expansion|population|replicate|person)_?w(eigh)?t"
    r"|(^|_)(p_?weight|wgt|fnlwgt|weighting|gewichtung|hochrechnung|ponderati|ponderaci|poids_sondage"
    r"|poids_de_sondage|facteur_d_extrapolation|factor_de_expansion|peso_campion)"
    r"|(survey|design|stichproben)_?gewicht"
)
"""Names of survey weights, not of what a person weighs."""
WEIGHT_ALONE = re.compile("weights?|gewichte?|poids|peso|pesos|gewicht_faktor|wt")
"""Names that may be of either."""
SURVEY_WEIGHT = 'how many people a row represents (the role "weight")'
PERSON_NUMBER = re.compile(
    r"(^|_)(id|ids|uid|guid|uuid|pid|mrn|ssn|nhs|no|nr|num|key|patid|patnr|patientid|patient|person"
    r"|client|kunde|numero|ipp|nip|nss|matricule|identifiant|kvnr|patientennr|aktenzeichen)(_|$)"
    r"|number|nummer|kennung"
)
CONTACT = re.compile(
    r"phone|telef|(^|_)tel(_|$)|mobil|handy|fax|house|haus|street|account|konto|iban"
)
"""Names of numbers that people share, or that are not those of persons."""
POSTCODE = re.compile(r"(^|_)(zip|plz|post_?code|post_?leitzahl|postal|code_?postal|cap(_|$))")
CODE = re.compile(
    r"(^|_)(zip|plz|cap|icd|cpt|drg|fips|tract|nuts|lau|ags|insee|area|ward|region|district|gemeinde"
    r"|ort|nr|no|num|id|key|cod)(_|$)|post|code|codigo|codice|kode|number|nummer|schluessel|leitzahl"
)
"""Names of columns whose digits are codes, not amounts."""
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "°": "o"})
BIRTH = re.compile(
    "birth|dob|geburt|gebdat|geb_dat|^geb$|naissance|nacimiento|nascita|nascimento|geboorte"
)
MONEY = "amounts of money"
SUBJECT = 'the role "subject" counts people instead of rows'
CODED = (
    "ICD-10 codes", "ICD-9 codes", "lists of ICD-10 codes", "lists of ICD-9 codes", MONEY
)  # fmt: skip
"""Descriptions of values that are typically sensitive."""
FEW = 0.2
"""The share of distinct values below which a column hardly names people."""
MANY = 100
CROWDED = 12
"""The number of quasi-identifiers beyond which a draft warns of the loss."""
UNIQUE = 0.95
BANDS = 12
"""The approximate number of finest intervals for nine tenths of the rows."""
STEPS = {1: (5, 2, 2, 5), 2: (5, 2, 2, 5), 5: (2, 2, 2, 5)}
"""The factors between nested widths, by the first digit of the finest width."""


@dataclass(frozen=True)
class Profile:
    """Facts about a column: its kind, its counts, and what its values look like."""

    name: str
    kind: str
    rows: int
    distinct: int
    missing: int
    looks: tuple[tuple[str, float], ...] = ()
    """Descriptions of values, such as "e-mail addresses", each with the share of values it fits."""
    nulls: tuple[str, ...] = ()
    """Marks of missing values."""
    date_formats: tuple[tuple[str, ...], ...] = ()
    """The formats of its dates, unless ISO; two sets if the values fit both."""
    decimals: tuple[DecimalMark, ...] = ()
    """The decimal mark of amounts that are not plain numbers; two if the values fit both."""
    span: tuple[float, float] | None = None
    """The smallest and the largest number."""
    spread: tuple[float, float] | None = None
    """The range that contains nine tenths of the numbers in the first rows."""
    is_whole: bool = False
    is_finite: bool = True
    """Whether all of its numbers are finite."""
    unread: int = 0
    """The number of rows whose value is not a date in these formats."""
    no_numbers: int = 0
    """The number of rows of a text that hold no number, if nearly all hold one."""
    folded: int = 0
    """The number of values in the first rows without spaces around and case, if that is smaller."""
    folds_case: bool = True
    """Whether case is among what is left out then, and not only spaces."""
    builtin: str = ""
    """The built-in hierarchy that has its values."""

    @property
    def facts(self) -> str:
        """The counts as a comment."""
        gap = f", {self.missing / self.rows:.1%} missing" if self.missing else ""
        return f"{self.kind}, {self.distinct:,} distinct{gap}"

    @property
    def is_nearly_unique(self) -> bool:
        """Whether nearly every row has a different value."""
        return self.rows > 20 and self.distinct > UNIQUE * (self.rows - self.missing)

    @property
    def words(self) -> str:
        """Its name in lower case, with words separated by underscores."""
        return split_words(self.name)


def split_words(name: str) -> str:
    """Writes a column's name in lower case, with words separated by underscores.

    >>> split_words("patientZIP code"), split_words("Größe"), split_words("N° patient")
    ('patient_zip_code', 'groesse', 'no_patient')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().translate(UMLAUTS)
    plain = normalize("NFKD", parted).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z]+", "_", plain).strip("_")


@dataclass(frozen=True)
class Suggestion:
    """A suggested role, the reason for it, and what is doubtful about it, if anything."""

    role: str
    reason: str
    doubt: str = ""


def suggest(profile: Profile) -> Suggestion:
    """Suggests a role for a column: by what its values look like, its name, and its counts.

    >>> suggest(Profile("patient_name", "text", 100, 99, 0))
    Suggestion(role='identifier', reason='its name says that it identifies a person', doubt='')
    >>> suggest(Profile("discharge_ts", "date", 100, 90, 0)).role
    'quasi'
    """
    if profile.kind == "nested":
        reason = "lists or structures cannot be grouped; make sure that they reveal nothing"
        return Suggestion("insensitive", reason, "does it reveal something about people?")
    # One row alone is all that identifies it; a value here and a gap there are two values.
    is_constant = profile.rows > 1 and (
        profile.distinct == 0 or (profile.distinct == 1 and not profile.missing)
    )
    if is_constant and all(look in CODED for look, _ in profile.looks):
        is_telling = profile.distinct and (profile.looks or SENSITIVE.search(profile.words))
        doubt = "being in the table reveals it: may everybody know it?" if is_telling else ""
        return Suggestion("insensitive", "the same in every row", doubt)
    return _suggest_by_values(profile) or _suggest_by_name(profile) or _suggest_by_counts(profile)


def _suggest_by_values(profile: Profile) -> Suggestion | None:
    shares = sorted(profile.looks, key=lambda look: -look[1])
    if not shares:
        return None
    found = [
        f"{look} ({f'{share:.0%}' if share >= 0.01 else 'under 1%'})" for look, share in shares
    ]
    if shares[0][0] in CODED:
        if shares[0][0] != MONEY and is_person_number(profile.name):
            return None  # P102443 is also written like a code of ICD-10
        if profile.is_nearly_unique and shares[0][0] != MONEY:
            reason = f"almost every value is unique, although the values look like {found[0]}"
            return Suggestion("identifier", reason, "does it identify people, or is it sensitive?")
        are_many = profile.distinct > max(MANY, FEW * profile.rows) and shares[0][0] != MONEY
        doubt = "are they diagnoses, or numbers of people?" if are_many else ""
        return Suggestion("sensitive", f"its values are {found[0]}", doubt)
    reason = f"its values are or contain {', '.join(found)}"
    doubt = "may it be left out, or can it be cleaned?" if shares[0][1] < 0.5 else ""
    return Suggestion("identifier", reason, doubt)


def is_person_number(name: str) -> bool:
    """Whether a column is named like a number or key of persons, and like nothing else.

    >>> is_person_number("Patienten-ID"), is_person_number("phone_no"), is_person_number("name")
    (True, False, False)
    """
    word = split_words(name)
    others = (SENSITIVE, QUASI, CONTACT)
    is_number = IDENTIFIER.search(word) and PERSON_NUMBER.search(word)
    return bool(is_number) and not any(other.search(word) for other in others)


def _suggest_by_name(profile: Profile) -> Suggestion | None:
    word, share = profile.words, profile.distinct / max(profile.rows - profile.missing, 1)
    if profile.kind == "number" and WEIGHT.search(word):
        reason = "its name says that it is a survey weight"
        return Suggestion("weight", reason, "is it one? a weight is released unchanged")
    is_sensitive, is_quasi = bool(SENSITIVE.search(word)), bool(QUASI.search(word))
    doubt = ""
    if profile.kind == "number" and WEIGHT_ALONE.fullmatch(word):
        doubt = f"what people weigh, or {SURVEY_WEIGHT}?"
    if IDENTIFIER.search(word):
        repeats = share < FEW and profile.rows >= 50
        if repeats:
            doubt = f"does it identify people? it has only {profile.distinct:,} values"
        if profile.rows > 20 and share <= UNIQUE and is_person_number(profile.name):
            link = "; if it does" if doubt else "does each value stand for a person? if so"
            doubt = f"{doubt}{link}, some people have several rows: {SUBJECT}"
        if not (repeats and (is_sensitive or is_quasi)):
            return Suggestion("identifier", "its name says that it identifies a person", doubt)
    if is_sensitive and not (profile.kind == "date" and is_quasi):
        reason = "its name suggests something confidential"
        return Suggestion("sensitive", reason, doubt)
    if is_quasi:
        return Suggestion("quasi", "others may know it, and it helps to identify people", doubt)
    return None


def _suggest_by_counts(profile: Profile) -> Suggestion:
    is_name = profile.kind in ("text", "code") or (profile.kind == "number" and profile.is_whole)
    if profile.kind == "date":
        return Suggestion("quasi", "a date that others may know")
    if profile.is_nearly_unique and is_name:
        doubt = (
            ""
            if profile.kind != "number"
            else "does the number identify a person, or is it a measurement?"
        )
        return Suggestion("identifier", "almost every value is unique", doubt)
    doubt = "could others know it, or is it sensitive?"
    return Suggestion("quasi", "nothing is known about it; this is the cautious choice", doubt)


def suggest_hierarchy(profile: Profile) -> list[str]:
    """Suggests a hierarchy for the column, as a comment.

    As a comment only: without one a class is released by intervals and sets of its own values,
    which lose less (tests/first_day/test_drafts.py measures it).
    """
    if profile.builtin:
        return [f'# hierarchy = {{ builtin = "{profile.builtin}" }}']
    if profile.kind == "date":
        if BIRTH.search(profile.words):
            return [
                '# hierarchy = { builtin = "birth_dates" }  # by year, 5, 10 and 20 years',
                '# age_on = "YYYY-MM-DD"  # or ages on a day that you name, in place of dates',
            ]
        return ['# hierarchy = { dates = ["month", "quarter", "year", "5 years", "decade"] }']
    if profile.kind == "code":
        if re.search(r"(^|_)zip", profile.words):
            return ['# hierarchy = { builtin = "us_zip" }  # three digits, small areas as 000']
        why = "characters kept at each level; without it, codes are ranges of numbers"
        return [f"# hierarchy = {{ prefix = [3, 2, 0] }}  # {why}"]
    if profile.kind == "text" and POSTCODE.search(profile.words):
        kept = "characters kept; of different lengths, so what is cut off is one star"
        return [f"# hierarchy = {{ prefix = [3, 2, 1] }}  # {kept}"]
    if profile.kind == "number" and profile.is_finite and profile.distinct > 10:
        widths = ", ".join(choose_widths(profile))
        return [f"# hierarchy = {{ intervals = [{widths}] }}  # widths, finest first"]
    return []


def choose_widths(profile: Profile) -> list[str]:
    """Chooses widths of nested intervals from the spread of the numbers, rounded to 1, 2 or 5.

    >>> choose_widths(Profile("age", "number", 99, 73, 0, span=(17, 90), spread=(19, 63)))
    ['5', '10', '20']
    >>> choose_widths(Profile("hba1c", "number", 99, 80, 0, span=(4, 14), spread=(5, 9)))
    ['0.5', '1', '2', '4']
    """
    low, high = profile.span or (0.0, 60.0)
    left, right = profile.spread or (low, high)
    wide = right - left if right > left else high - low
    if not (math.isfinite(wide) and wide > 0):
        return ["5", "10", "20"]
    ideal = wide / BANDS
    digit, power = min(
        ((digit, power) for power in range(-12, 16) for digit in STEPS),
        key=lambda pair: abs(math.log(ideal / (pair[0] * 10.0 ** pair[1]))),
    )
    finest = digit * Fraction(10) ** power
    if profile.is_whole and finest < 2:
        digit, finest = 2, Fraction(2)
    widths = [finest]
    for step in [*STEPS[digit], *[2, 5] * 12]:
        if widths[-1] * step > (high - low) / 2:
            break
        widths.append(widths[-1] * step)
    return [write_number(width) for width in widths]
