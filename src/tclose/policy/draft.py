"""Writes a commented first policy, suggested from the columns of a table.

Every role is a suggestion with its reason, written with a question mark; a policy with question
marks does not run until the steward has removed them. Where the table does not say enough there is
a `Question`, which `tclose init` asks on a terminal; elsewhere it is a comment at its column.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from unicodedata import normalize

from tclose.errors import PolicyError, UsageError
from tclose.plain import Written, escape_controls, exact, write_number
from tclose.policy.load import parse_policy, parse_toml, write_key, write_value
from tclose.policy.model import Policy

SUGGESTED = re.compile(r"""(["'])(identifier|quasi|sensitive|insensitive)\?\1""")
DRAFTED_T = re.compile(r"^# t = [0-9.]+", flags=re.MULTILINE)


def _words(text: str, endings: str, *, alone: str = "-") -> re.Pattern[str]:
    """Makes a pattern for words in a column name.

    Words of up to three letters must match whole, longer ones as a beginning; `endings` match at
    the end of a compound word, and words in `alone` only if they are the whole name.
    """
    parts = [word if len(word) > 3 else f"{word}(?=_|$)" for word in text.split()]
    alone = "|".join(alone.split())
    return re.compile(rf"(?:^|_)({'|'.join(parts)})|{_endings(endings)}|^({alone})$")


def _endings(text: str) -> str:
    """Makes a pattern for the last part of a compound word, perhaps in the plural."""
    return rf"({'|'.join(text.split())})(?=(s|n|en)?(_|$))"


# English, German, French, Spanish, Italian, Portuguese, Dutch.
IDENTIFIER = _words(
    "id ids uid guid uuid name names surname firstname lastname fullname forename patientname "
    "patientid vorname nachname nom prenom nombre apellido cognome nome sobrenome naam voornaam "
    "achternaam ssn nin nhs nir dni nif cpf bsn ahv email e_mail mail phone tel telef mobile handy "
    "fax address adress direccion indirizzo endereco adres street strasse passport pasaporte "
    "license licence iban account konto mrn patient_no record record_no patnr fallnr fallnummer "
    "versichertennummer url ip website kennzeichen signature note notes comment remark free_text "
    "freitext bemerkung notiz commentaire observacion anschrift adresse familienname kennung "
    "teleph login passw codice_fiscale historia_clinica numero_secu vin plate",
    "name nummer number kennung anschrift telefon naam",
    alone="patient patients patientin person client kunde",
)
SENSITIVE = _words(
    "diagnos disease illness condition icd dx drug medic hiv hba hb_a procedure surgery treatment "
    "therap deceased death died mortal vital_status salary income wage earning cost bill charge "
    "debt religio politic orientation crime convict offence offense test_result result score grade "
    "stay los length_of_stay outcome price payment balance credit "
    "krankheit erkrank befund gehalt lohn einkommen kosten betrag verstorben behandlung eingriff "
    "medikament konfession maladie salaire revenu cout deces decede traitement enfermedad salario "
    "sueldo coste costo fallecid tratamiento malattia stipendio reddito decedut doenca renda "
    "custo(?=s?(_|$)) obito ziekte loon inkomen overleden symptom allerg infe pregnan schwanger "
    "mental psych smok rauch alcohol alkohol viral geno mutation tumor tumour cancer krebs "
    "vaccin impf covid prescri dosage medik todes blutgr pflegegr criminal straf loan bonus "
    "net_worth rating readmi sick union health(?!_?insur) disab injur handicap behinder gesundheit "
    "sante salud saude salute gezondheid",
    "disease illness health(?!_?insur) behinderung income salary wage diagnose diagnosis "
    "diagnostic krankheit erkrankung befund medikament behandlung therapie "
    "therapy kosten einkommen gehalt operation symptom medikation",
)
QUASI = _words(
    "age ages dob birth born sex gender zip zipcode postcode postal post city town county region "
    "state country nation native race ethnic marital education school degree occupation job "
    "profession employ workclass relation married child kids famil househ language height weight "
    "admission admit discharge visit date year latitude longitude lat lon lng hours citizen "
    "alter geburt geschlecht plz stadt ort gemeinde land bundesland kanton familienstand bildung "
    "beruf sprache groesse gewicht aufnahme entlassung datum jahr naissance sexe ville pays "
    "codepostal edad nacimiento sexo ciudad pais provincia eta nascita sesso citta paese idade "
    "nascimento cidade leeftijd geboorte geslacht gemeente beroep wohnort postleit station ward "
    "department abteilung insur versicher kasse payer taille poids",
    "datum date jahr alter wohnort leitzahl beruf stand groesse gewicht sprache staat kasse",
)
POSTCODE = re.compile(r"(^|_)(zip|plz|post_?code|post_?leitzahl|postal|code_?postal|cap(_|$))")
CODE = re.compile(
    r"(^|_)(zip|plz|cap|icd|cpt|drg|fips|tract|nuts|lau|ags|insee|area|ward|region|district|gemeinde"
    r"|ort|nr|no|num|id|key|cod)(_|$)|post|code|codigo|codice|kode|number|nummer|schluessel|leitzahl"
)
"""Names of columns whose digits are codes, not amounts."""
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
BIRTH = re.compile("birth|dob|geburt|naissance|nacimiento|nascita|nascimento|geboorte")
MONEY = "amounts of money"
CODED = (
    "ICD-10 codes", "ICD-9 codes", "lists of ICD-10 codes", "lists of ICD-9 codes", MONEY
)  # fmt: skip
"""Descriptions of values that are typically sensitive."""
FEW = 0.2
"""The share of distinct values below which a column hardly names people."""
MANY = 100
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
    decimals: tuple[str, ...] = ()
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
    folded: int = 0
    """The number of values in the first rows without spaces around and case, if that is smaller."""
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

    >>> split_words("patientZIP code"), split_words("Größe")
    ('patient_zip_code', 'groesse')
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


@dataclass(frozen=True)
class Question:
    """A question that the values of a column do not settle, and the possible answers."""

    column: str
    topic: str
    """One of role, dates, unreadable, decimal, nulls."""
    text: str
    answers: tuple[str, ...]


Answers = Mapping[tuple[str, str], str]
"""The answers by column and topic."""


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
    if profile.distinct <= 1 and all(look in CODED for look, _ in profile.looks):
        return Suggestion("insensitive", "the same in every row")
    return _suggest_by_values(profile) or _suggest_by_name(profile) or _suggest_by_counts(profile)


def _suggest_by_values(profile: Profile) -> Suggestion | None:
    shares = sorted(profile.looks, key=lambda look: -look[1])
    if not shares:
        return None
    found = [
        f"{look} ({f'{share:.0%}' if share >= 0.01 else 'under 1%'})" for look, share in shares
    ]
    if shares[0][0] in CODED:
        if profile.is_nearly_unique and shares[0][0] != MONEY:
            reason = f"almost every value is unique, although the values look like {found[0]}"
            return Suggestion("identifier", reason, "does it identify people, or is it sensitive?")
        return Suggestion("sensitive", f"its values are {found[0]}")
    reason = f"its values are or contain {', '.join(found)}"
    doubt = "may it be left out, or can it be cleaned?" if shares[0][1] < 0.5 else ""
    return Suggestion("identifier", reason, doubt)


def _suggest_by_name(profile: Profile) -> Suggestion | None:
    word, share = profile.words, profile.distinct / max(profile.rows - profile.missing, 1)
    is_sensitive, is_quasi = bool(SENSITIVE.search(word)), bool(QUASI.search(word))
    doubt = ""
    if IDENTIFIER.search(word):
        repeats = share < FEW and profile.rows >= 50
        if repeats:
            doubt = f"does it identify people? it has only {profile.distinct:,} values"
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


def list_questions(profiles: Sequence[Profile]) -> list[Question]:
    """Lists the questions about the columns, in their order.

    >>> dates = Profile("seen", "date", 9, 9, 0, date_formats=(("%m/%d/%Y",), ("%d/%m/%Y",)))
    >>> [(question.topic, question.answers) for question in list_questions([dates])]
    [('dates', ('month', 'day'))]
    """
    questions = []
    for profile in profiles:
        suggestion = suggest(profile)
        if suggestion.doubt:
            text = f"{suggestion.reason}: {suggestion.role}? {suggestion.doubt}"
            roles = ("identifier", "quasi", "sensitive", "insensitive")
            questions.append(Question(profile.name, "role", text, roles))
        if suggestion.role not in ("quasi", "sensitive") and not suggestion.doubt:
            continue
        if len(profile.date_formats) > 1:
            text = "its dates do not show whether the month or the day comes first"
            questions.append(Question(profile.name, "dates", text, ("month", "day")))
        if profile.unread:
            text = f"{_describe_unread(profile)}: do they count as missing?"
            questions.append(Question(profile.name, "unreadable", text, YES_NO))
        if len(profile.decimals) > 1:
            text = "its amounts do not show which mark separates decimals: which one?"
            questions.append(Question(profile.name, "decimal", text, tuple(DECIMAL_WORDS)))
        if profile.nulls:
            marks = ", ".join(map(repr, profile.nulls))
            questions.append(Question(profile.name, "nulls", f"does {marks} mean missing?", YES_NO))
    return questions


YES_NO = ("yes", "no")
DECIMAL_WORDS = {"comma": ",", "point": "."}


def draft(source: str, profiles: Sequence[Profile], answers: Answers | None = None) -> str:
    """Writes a policy for a table, to be read, corrected and confirmed.

    >>> print(draft("t.csv", [Profile("zip", "code", 9, 4, 0)]))  # doctest: +ELLIPSIS
    # Draft of a policy for t.csv, made from its columns. Nothing is decided yet:
    ...
    """
    given = answers or {}
    name = escape_controls(source, lines=False)
    head = [
        f"# Draft of a policy for {name}, made from its columns. Nothing is decided yet:",
        "# every role is a suggestion that ends in a question mark. Check and correct each role",
        "# and remove the mark, or confirm all remaining ones with `tclose policy confirm`.",
        "# A policy with question marks cannot be used.",
        "#",
        "# identifier   identifies a person directly; not released",
        "# quasi        could be known to others and helps to identify a person",
        "# sensitive    what must not be learned about a person",
        "# insensitive  neither",
        "# count, weight, subject: how many rows a row represents, its survey weight, or which",
        "# person it belongs to",
        "#",
        "# Hierarchies of quasi columns are suggested as comments. Without one each class is",
        "# released as its own interval or set, which loses less. Full-domain methods and (n, t)-",
        "# closeness need hierarchies; they also give round intervals.",
        "",
        "k = 5                          # smallest number of rows that look alike",
        "",
        "[columns]",
    ]
    plain, tables = [], []
    for profile in profiles:
        suggestion = suggest(profile)
        role, mark = suggestion.role, "?"
        reason = suggestion.reason
        if (profile.name, "role") in given:
            role, mark, reason = given[profile.name, "role"], "", "your answer"
        elif suggestion.doubt:
            reason = f"{reason}. DOUBTFUL: {suggestion.doubt}"
        if role in ("identifier", "insensitive"):
            plain.append(f'{write_key(profile.name)} = "{role}{mark}"  # {profile.facts}: {reason}')
        else:
            lines = _table(profile, f"{role}{mark}", reason, given)
            tables += ["", *lines]
    return "\n".join([*head, *plain, *tables, ""])


def _table(profile: Profile, role: str, reason: str, answers: Answers) -> list[str]:
    lines = [
        f"[columns.{write_key(profile.name)}]  # {profile.facts}",
        f'role = "{role}"  # {reason}',
        *_nulls_line(profile, answers.get((profile.name, "nulls"), "")),
        *_dates_line(profile, answers.get((profile.name, "dates"), "")),
        *_unread_line(profile, answers),
        *_decimal_line(profile, answers.get((profile.name, "decimal"), "")),
    ]
    if profile.folded:
        lines.append(
            '# clean = { trim = true, case = "lower" }  '
            f"# {profile.distinct:,} spellings become {profile.folded:,}"
        )
    if role.startswith("quasi"):
        return lines + suggest_hierarchy(profile)
    distance, others = "equal", "ordered (needs order = [lowest, …, highest])"
    has_order = profile.kind in ("number", "date") and {*dict(profile.looks)} <= {MONEY}
    has_order &= profile.is_finite
    if has_order and not _is_undecided(profile, answers):
        distance, others = "ordered", "numeric, equal"
    if "ICD-10 codes" in dict(profile.looks):
        lines.append('# hierarchy = { builtin = "icd10" }  # for distance = "hierarchical"')
    if (
        distance == "equal"
        and profile.distinct > MANY
        and profile.distinct > FEW * profile.rows / 5
    ):
        lines.append(
            "# with so many unordered values only very large classes are close: group them"
            " (hierarchy),"
        )
        lines.append("# shorten them first, or leave the column out (identifier)")
    if profile.kind == "number" and profile.is_nearly_unique:
        unit = choose_widths(profile)[0]
        lines.append(f"# clean = {{ round = {unit} }}  # almost every value is unique")
    return [
        *lines,
        f'distance = "{distance}"  # or {others}, hierarchical (needs a hierarchy)',
        "# t = 0.2  # largest distance from the whole table; choose it yourself",
    ]


def _nulls_line(profile: Profile, answer: str) -> list[str]:
    """Returns the line with the marks of missing values."""
    if not profile.nulls or answer == "no":
        return []
    why = "your answer" if answer else "these look like missing values; remove the line if not"
    return [f"nulls = {write_value(profile.nulls)}  # {why}"]


def _is_undecided(profile: Profile, answers: Answers) -> bool:
    topic = "decimal" if len(profile.decimals) > 1 else "dates"
    ways = max(len(profile.date_formats), len(profile.decimals))
    return ways > 1 and (profile.name, topic) not in answers


def _decimal_line(profile: Profile, answer: str) -> list[str]:
    """Returns the lines about the decimal mark of amounts that are not plain numbers."""
    if len(profile.decimals) == 1:
        return [f'decimal = "{profile.decimals[0]}"  # its amounts are read as numbers']
    if not profile.decimals:
        return []
    if answer:
        return [f'decimal = "{DECIMAL_WORDS[answer]}"  # your answer']
    return [
        "# DOUBTFUL: its amounts do not show which mark separates decimals; choose one:",
        *(f'# decimal = "{mark}"' for mark in profile.decimals),
    ]


def _dates_line(profile: Profile, answer: str) -> list[str]:
    """Returns the lines about the format of dates, unless it is ISO."""
    formats = [
        json.dumps(order[0] if len(order) == 1 else list(order)) for order in profile.date_formats
    ]
    if not formats:
        return []
    if len(formats) == 1:
        why = "no other order of day and month fits" if not profile.unread else "fits most values"
        return [f"date_format = {formats[0]}  # {why}"]
    if answer:
        return [f"date_format = {formats[answer == 'day']}  # the {answer} first, your answer"]
    return [
        "# DOUBTFUL: its dates do not show whether month or day comes first; choose one:",
        *(f"# date_format = {form}" for form in formats),
    ]


def _describe_unread(profile: Profile) -> str:
    rows = "1 row has" if profile.unread == 1 else f"{profile.unread:,} rows have"
    is_one = len(profile.date_formats[0]) == 1
    return f"{rows} no date in {'this form' if is_one else 'these forms'}"


def _unread_line(profile: Profile, answers: Answers) -> list[str]:
    """Returns the line about values that are not dates; commented out while the format is open."""
    answer = answers.get((profile.name, "unreadable"), "")
    if not profile.unread or answer == "no":
        return []
    why = "your answer" if answer else "correct them instead if they matter"
    mark = "# " if _is_undecided(profile, answers) else ""
    return [f'{mark}unreadable = "missing"  # {_describe_unread(profile)}; {why}']


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
        return ['# hierarchy = { dates = ["month", "year", "5 years", "decade", "20 years"] }']
    if profile.kind == "code":
        if re.search(r"(^|_)zip", profile.words):
            return ['# hierarchy = { builtin = "us_zip" }  # three digits, small areas as 000']
        return ["# hierarchy = { prefix = [3, 2, 0] }  # characters kept at each level"]
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


def confirm_roles(text: str, t: Written | None = None) -> tuple[str, int]:
    """Removes the question marks from the text of a policy; also returns how many there were.

    If `t` is given, every sensitive column that was drafted without a t gets it.

    >>> confirm_roles('zip = "quasi?"')
    ('zip = "quasi"', 1)
    """
    text, count = SUGGESTED.subn(r"\1\2\1", text)
    if t is None:
        return text, count
    try:
        is_threshold = 0 <= exact(t) <= 1
    except ValueError:
        is_threshold = False
    if not is_threshold:
        raise UsageError("t must be a number in [0, 1]", where="t", hint="such as 0.2 or 1/5")
    text, drafted = DRAFTED_T.subn(f't = "{t}"', text)
    if not drafted:
        raise UsageError(
            "no sensitive column was drafted without a t, so this t would change nothing",
            where="policy",
            hint='give the columns to protect the role "sensitive", with a t at each',
        )
    return text, count


def list_doubtful(text: str) -> list[str]:
    """Lists the columns of a draft that are marked as doubtful, as they are written there.

    >>> list_doubtful('a = "identifier?"  # text: x. DOUBTFUL: y')
    ['a']
    """
    found, column = [], ""
    for line in text.splitlines():
        if header := re.match(r"\[columns\.(.+)\]  #", line):
            column = header[1]
        if "DOUBTFUL" in line:
            named = re.match(r"""("[^"]*"|[\w-]+) = ["'](identifier|insensitive)\b""", line)
            found.append(column if named is None else named[1])
    return list(dict.fromkeys(found))


@dataclass(frozen=True, repr=False)
class PolicyDraft:
    """A suggested policy, which cannot be used before it is confirmed."""

    text: str
    """The text that `tclose init` would write: TOML with comments and question marks at roles."""
    notes: tuple[str, ...] = field(default=())
    """What was noticed while reading the table."""
    table: str = ""
    profiles: tuple[Profile, ...] = ()
    """What is known of each column; it contains no values except marks of missing ones."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open questions; pass the answers to `answer`."""
        return tuple(list_questions(self.profiles))

    def answer(self, answers: Answers) -> PolicyDraft:
        """Returns the draft with some questions answered, by column and topic."""
        questions = {(question.column, question.topic): question for question in self.questions}
        for key, word in answers.items():
            if key not in questions or word not in questions[key].answers:
                hint = "column, topic and answers are those of `questions`"
                raise UsageError(
                    "this is not an answer to a question of the draft", where=str(key), hint=hint
                )
        return replace(self, text=draft(self.table, self.profiles, answers))

    def confirm(self, *, t: Written | None = None) -> Policy:
        """Returns the policy with every suggestion confirmed, and this t where none is written."""
        policy, problems = parse_policy(parse_toml(confirm_roles(self.text, t)[0]))
        if problems or policy is None:
            raise PolicyError(problems)
        return policy

    def save(self, path: str | Path) -> Path:
        """Writes the draft to a new file; an existing file is never overwritten."""
        place = Path(path)
        try:
            with place.open("x", encoding="utf-8") as file:
                file.write(self.text)
        except FileExistsError:
            raise UsageError("the file exists already", where=str(place)) from None
        return place

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<PolicyDraft: {len(SUGGESTED.findall(self.text))} suggested roles; print it>"
