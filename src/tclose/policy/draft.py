"""A commented first policy, suggested from the columns of a table.

Every role is only suggested, with its reason: it is written with a question mark, and a policy with
question marks does not run until the steward has removed them. What is doubtful is a `Question`,
which `tclose init` asks on a terminal; elsewhere it stands beside its column.
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
from tclose.plain import Written, exact, write_number
from tclose.policy.load import parse_policy, parse_toml, write_key
from tclose.policy.model import Policy

SUGGESTED = re.compile(r"""(["'])(identifier|quasi|sensitive|insensitive)\?\1""")
DRAFTED_T = re.compile(r"^# t = [0-9.]+", flags=re.MULTILINE)


def _words(text: str, endings: str, *, alone: str = "-") -> re.Pattern[str]:
    """Finds words of a name: short ones whole, longer ones as a beginning, some at the end of a
    compound word, some only where they are all of the name."""
    parts = [word if len(word) > 3 else f"{word}(?=_|$)" for word in text.split()]
    alone = "|".join(alone.split())
    return re.compile(rf"(?:^|_)({'|'.join(parts)})|{_endings(endings)}|^({alone})$")


def _endings(text: str) -> str:
    """Finds the last part of a compound word, perhaps in the plural."""
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
"""What values may look like that tell what people keep to themselves."""
FEW = 0.2
"""A share of distinct values under which something that should name people hardly does."""
MANY = 100
UNIQUE = 0.95
BANDS = 12
"""Into about how many intervals the finest level divides nine tenths of the rows."""
STEPS = {1: (5, 2, 2, 5), 2: (5, 2, 2, 5), 5: (2, 2, 2, 5)}
"""How widths that nest grow, from a finest one that begins with 1, 2 or 5."""


@dataclass(frozen=True)
class Profile:
    """What is known of a column: its kind, its counts, and what its values look like."""

    name: str
    kind: str
    rows: int
    distinct: int
    missing: int
    looks: tuple[tuple[str, float], ...] = ()
    """What values look like, and the share of them that do."""
    nulls: tuple[str, ...] = ()
    """Marks of missing values."""
    date_formats: tuple[tuple[str, ...], ...] = ()
    """How its dates are written, unless in ISO form; two ways where the values do not decide."""
    decimals: tuple[str, ...] = ()
    """The decimal mark of amounts that are no plain numbers; two where the values do not decide."""
    span: tuple[float, float] | None = None
    """The least and the largest number."""
    spread: tuple[float, float] | None = None
    """The numbers between which nine tenths of the first rows lie."""
    is_whole: bool = False
    is_finite: bool = True
    """Whether none of its numbers is infinite: those have no place among the others."""
    unread: int = 0
    """Rows whose value is no date in these formats."""
    folded: int = 0
    """How many values the first rows have once spaces around and case are left out, if fewer."""
    builtin: str = ""
    """The built-in hierarchy that knows its values."""

    @property
    def facts(self) -> str:
        """The counts as a comment."""
        gap = f", {self.missing / self.rows:.1%} missing" if self.missing else ""
        return f"{self.kind}, {self.distinct:,} distinct{gap}"

    @property
    def is_nearly_unique(self) -> bool:
        """Whether nearly every row has a value of its own."""
        return self.rows > 20 and self.distinct > UNIQUE * (self.rows - self.missing)

    @property
    def words(self) -> str:
        """Its name in small letters, words divided by underscores."""
        return split_words(self.name)


def split_words(name: str) -> str:
    """A column's name in small letters, its words divided by underscores.

    >>> split_words("patientZIP code"), split_words("Größe")
    ('patient_zip_code', 'groesse')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().translate(UMLAUTS)
    plain = normalize("NFKD", parted).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z]+", "_", plain).strip("_")


@dataclass(frozen=True)
class Suggestion:
    """A role, the reason for it, and what is doubtful about it, if anything."""

    role: str
    reason: str
    doubt: str = ""


@dataclass(frozen=True)
class Question:
    """What the values of a column do not tell, and the answers that can be given."""

    column: str
    topic: str
    """role, dates, unreadable, decimal or nulls."""
    text: str
    answers: tuple[str, ...]


Answers = Mapping[tuple[str, str], str]
"""What was answered, by column and topic."""


def suggest(profile: Profile) -> Suggestion:
    """A role for a column: by what its values look like, then by its name, then by its counts.

    >>> suggest(Profile("patient_name", "text", 100, 99, 0))
    Suggestion(role='identifier', reason='its name says that it identifies a person', doubt='')
    >>> suggest(Profile("discharge_ts", "date", 100, 90, 0)).role
    'quasi'
    """
    if profile.kind == "nested":
        reason = "lists or structures cannot be grouped; make sure they tell nothing"
        return Suggestion("insensitive", reason, "does it tell something about people?")
    if profile.distinct <= 1 and all(look in CODED for look, _ in profile.looks):
        return Suggestion("insensitive", "it is the same in every row")
    return _suggest_by_values(profile) or _suggest_by_name(profile) or _suggest_by_counts(profile)


def _suggest_by_values(profile: Profile) -> Suggestion | None:
    shares = sorted(profile.looks, key=lambda look: -look[1])
    if not shares:
        return None
    told = [f"{look} ({f'{share:.0%}' if share >= 0.01 else 'under 1%'})" for look, share in shares]
    if shares[0][0] in CODED:
        if profile.is_nearly_unique and shares[0][0] != MONEY:
            reason = f"nearly every row has a value of its own, though they look like {told[0]}"
            return Suggestion("identifier", reason, "does it number people, or say what they have?")
        return Suggestion("sensitive", f"its values are {told[0]}")
    reason = f"its values are or hold {', '.join(told)}"
    doubt = "may it be left out, or can it be cleaned?" if shares[0][1] < 0.5 else ""
    return Suggestion("identifier", reason, doubt)


def _suggest_by_name(profile: Profile) -> Suggestion | None:
    word, share = profile.words, profile.distinct / max(profile.rows - profile.missing, 1)
    is_sensitive, is_quasi = bool(SENSITIVE.search(word)), bool(QUASI.search(word))
    doubt = ""
    if IDENTIFIER.search(word):
        repeats = share < FEW and profile.rows >= 50
        if repeats:
            doubt = f"does it name people? it has only {profile.distinct:,} values"
        if not (repeats and (is_sensitive or is_quasi)):
            return Suggestion("identifier", "its name says that it identifies a person", doubt)
    if is_sensitive and not (profile.kind == "date" and is_quasi):
        reason = "its name speaks of something people keep to themselves"
        return Suggestion("sensitive", reason, doubt)
    if is_quasi:
        return Suggestion("quasi", "others may know it, and it narrows people down", doubt)
    return None


def _suggest_by_counts(profile: Profile) -> Suggestion:
    is_name = profile.kind in ("text", "code") or (profile.kind == "number" and profile.is_whole)
    if profile.kind == "date":
        return Suggestion("quasi", "a date that others may know")
    if profile.is_nearly_unique and is_name:
        doubt = "" if profile.kind != "number" else "is it a number of a person, or a measurement?"
        return Suggestion("identifier", "nearly every row has a value of its own", doubt)
    doubt = "could others know it, or is it what must not be learned?"
    return Suggestion("quasi", "nothing is known about it; the cautious guess", doubt)


def list_questions(profiles: Sequence[Profile]) -> list[Question]:
    """What is doubtful, column by column.

    >>> dates = Profile("seen", "date", 9, 9, 0, date_formats=(("%m/%d/%Y",), ("%d/%m/%Y",)))
    >>> [(question.topic, question.answers) for question in list_questions([dates])]
    [('dates', ('month', 'day'))]
    """
    asked = []
    for profile in profiles:
        suggestion = suggest(profile)
        if suggestion.doubt:
            text = f"{suggestion.reason}: {suggestion.role}? {suggestion.doubt}"
            roles = ("identifier", "quasi", "sensitive", "insensitive")
            asked.append(Question(profile.name, "role", text, roles))
        if suggestion.role not in ("quasi", "sensitive") and not suggestion.doubt:
            continue
        if len(profile.date_formats) > 1:
            text = "its dates do not tell which comes first, the month or the day"
            asked.append(Question(profile.name, "dates", text, ("month", "day")))
        if profile.unread:
            text = f"{_tell_unread(profile)}: do they count as missing?"
            asked.append(Question(profile.name, "unreadable", text, YES_NO))
        if len(profile.decimals) > 1:
            text = "its amounts do not tell whether a mark parts thousands or decimals: decimals?"
            asked.append(Question(profile.name, "decimal", text, tuple(DECIMAL_WORDS)))
        if profile.nulls:
            marks = ", ".join(map(repr, profile.nulls))
            asked.append(Question(profile.name, "nulls", f"does {marks} mean missing?", YES_NO))
    return asked


YES_NO = ("yes", "no")
DECIMAL_WORDS = {"comma": ",", "point": "."}


def draft(source: str, profiles: Sequence[Profile], answers: Answers | None = None) -> str:
    """The text of a policy for a table, to be read, corrected and confirmed.

    >>> print(draft("t.csv", [Profile("zip", "code", 9, 4, 0)]))  # doctest: +ELLIPSIS
    # A first policy for t.csv, drafted from its columns. Nothing is decided yet:
    ...
    """
    given = answers or {}
    head = [
        f"# A first policy for {source}, drafted from its columns. Nothing is decided yet:",
        "# every role below is a suggestion that ends in a question mark. Read each, correct it,",
        "# and remove the mark (or confirm all that are left with `tclose policy confirm`).",
        "# A policy with question marks does not run.",
        "#",
        "# identifier   names a person outright; never released",
        "# quasi        could be known to others and narrows people down",
        "# sensitive    what must not be learned about a person",
        "# insensitive  neither",
        "# count, weight, subject: where a row is not just one row of one person, a column may say",
        "# for how many it stands, what it weighs, or whose it is",
        "#",
        "# A hierarchy of a quasi column is suggested as a comment: without one each class is told",
        "# by its own interval or set, which loses less. Full-domain methods and (n, t)-closeness",
        "# need it, and who wants round bands takes it.",
        "",
        "k = 5                          # least number of rows that look alike",
        "",
        "[columns]",
    ]
    plain, tables = [], []
    for profile in profiles:
        suggestion = suggest(profile)
        role, mark = suggestion.role, "?"
        reason = suggestion.reason
        if (profile.name, "role") in given:
            role, mark, reason = given[profile.name, "role"], "", "as answered"
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
            f"# {profile.distinct:,} spellings would become {profile.folded:,}"
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
            "# so many values without an order are close only in very large classes: group them"
            " (hierarchy),"
        )
        lines.append("# shorten them beforehand, or leave the column out (identifier)")
    if profile.kind == "number" and profile.is_nearly_unique:
        unit = choose_widths(profile)[0]
        lines.append(f"# clean = {{ round = {unit} }}  # nearly every value finds its row again")
    return [
        *lines,
        f'distance = "{distance}"  # or {others}, hierarchical (needs a hierarchy)',
        "# t = 0.2  # largest distance from the whole table; yours to choose, no rule gives it",
    ]


def _nulls_line(profile: Profile, answer: str) -> list[str]:
    """The marks of missing values, offered."""
    if not profile.nulls or answer == "no":
        return []
    marks = ", ".join(json.dumps(mark, ensure_ascii=False) for mark in profile.nulls)
    why = "as answered" if answer else "these look like missing values; remove the line if not"
    return [f"nulls = [{marks}]  # {why}"]


def _is_undecided(profile: Profile, answers: Answers) -> bool:
    topic = "decimal" if len(profile.decimals) > 1 else "dates"
    ways = max(len(profile.date_formats), len(profile.decimals))
    return ways > 1 and (profile.name, topic) not in answers


def _decimal_line(profile: Profile, answer: str) -> list[str]:
    """The decimal mark of amounts that are written otherwise than plain numbers."""
    if len(profile.decimals) == 1:
        return [f'decimal = "{profile.decimals[0]}"  # its amounts are read as numbers']
    if not profile.decimals:
        return []
    if answer:
        return [f'decimal = "{DECIMAL_WORDS[answer]}"  # as answered']
    return [
        "# DOUBTFUL: its amounts do not tell whether a mark parts thousands or decimals; choose:",
        *(f'# decimal = "{mark}"' for mark in profile.decimals),
    ]


def _dates_line(profile: Profile, answer: str) -> list[str]:
    """How dates are written, where that is not the ISO form."""
    formats = [
        json.dumps(order[0] if len(order) == 1 else list(order)) for order in profile.date_formats
    ]
    if not formats:
        return []
    if len(formats) == 1:
        why = "no other order of day and month fits" if not profile.unread else "fits most values"
        return [f"date_format = {formats[0]}  # {why}"]
    if answer:
        return [f"date_format = {formats[answer == 'day']}  # the {answer} first, as answered"]
    return [
        "# DOUBTFUL: its dates do not tell which comes first, the month or the day; choose one:",
        *(f"# date_format = {form}" for form in formats),
    ]


def _tell_unread(profile: Profile) -> str:
    rows = "1 row has" if profile.unread == 1 else f"{profile.unread:,} rows have"
    is_one = len(profile.date_formats[0]) == 1
    return f"{rows} no date in {'this form' if is_one else 'these forms'}"


def _unread_line(profile: Profile, answers: Answers) -> list[str]:
    """What becomes of values that are no dates, offered; with a question as long as there is."""
    answer = answers.get((profile.name, "unreadable"), "")
    if not profile.unread or answer == "no":
        return []
    why = "as answered" if answer else "correct them instead if they matter"
    mark = "# " if _is_undecided(profile, answers) else ""
    return [f'{mark}unreadable = "missing"  # {_tell_unread(profile)}; {why}']


def suggest_hierarchy(profile: Profile) -> list[str]:
    """A hierarchy that would suit the column, as a comment: intervals and sets of a class's own
    values lose less (tests/first_day/test_drafts.py measures it).
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
    """Widths of nested intervals that follow where the numbers lie, rounded to 1, 2 or 5.

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
    """The text of a policy without question marks, and how many there were.

    Where a `t` is given, it is promised of every sensitive column that was drafted without one.

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
        raise UsageError("t is a number in [0, 1]", where="t", hint="such as 0.2 or 1/5")
    text, drafted = DRAFTED_T.subn(f't = "{t}"', text)
    if not drafted:
        raise UsageError(
            "no sensitive column was drafted without a t, so t would change nothing",
            where="policy",
            hint='give the columns to protect the role "sensitive", with a t at each',
        )
    return text, count


def list_doubtful(text: str) -> list[str]:
    """The columns of a draft at which something is said to be doubtful, as they are written there.

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
    """A suggested policy: nothing runs by it before it is confirmed."""

    text: str
    """What `tclose init` would write: TOML with comments, each role with a question mark."""
    notes: tuple[str, ...] = field(default=())
    """What was noticed when the table was read."""
    table: str = ""
    profiles: tuple[Profile, ...] = ()
    """What is known of each column; no value is among it but marks of missing ones."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is doubtful: `answer` takes the answers."""
        return tuple(list_questions(self.profiles))

    def answer(self, answers: Answers) -> PolicyDraft:
        """The draft with some questions answered, by column and topic; those have no mark left."""
        asked = {(question.column, question.topic): question for question in self.questions}
        for key, word in answers.items():
            if key not in asked or word not in asked[key].answers:
                hint = "column, topic and answers are those of `questions`"
                raise UsageError("this is no answer to a question", where=str(key), hint=hint)
        return replace(self, text=draft(self.table, self.profiles, answers))

    def confirm(self, *, t: Written | None = None) -> Policy:
        """The policy with every suggestion confirmed, and this t promised where none is written."""
        policy, problems = parse_policy(parse_toml(confirm_roles(self.text, t)[0]))
        if problems or policy is None:
            raise PolicyError(problems)
        return policy

    def save(self, path: str | Path) -> Path:
        """Writes the draft, to be read and corrected; never over a file that is there."""
        place = Path(path)
        try:
            with place.open("x", encoding="utf-8") as file:
                file.write(self.text)
        except FileExistsError:
            raise UsageError("there is such a file already", where=str(place)) from None
        return place

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<PolicyDraft: {len(SUGGESTED.findall(self.text))} suggested roles; print it>"
