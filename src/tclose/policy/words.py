"""The roles a column can have, and the field's other words for them."""

from __future__ import annotations

from typing import Literal, get_args

from tclose.errors import nearest

Role = Literal["identifier", "quasi", "sensitive", "insensitive", "count", "weight", "subject"]
ROLES: tuple[str, ...] = get_args(Role)
COUNTING: tuple[str, ...] = ("count", "weight", "subject")
"""The roles that say what a row counts; a policy has at most one such column."""

SYNONYMS = {
    "direct identifier": "identifier",
    "direct-identifier": "identifier",
    "identifying": "identifier",
    "id": "identifier",
    "quasi-identifier": "quasi",
    "quasi identifier": "quasi",
    "quasi-identifying": "quasi",
    "quasi-id": "quasi",
    "qi": "quasi",
    "qid": "quasi",
    "key": "quasi",
    "key variable": "quasi",
    "confidential": "sensitive",
    "confidential attribute": "sensitive",
    "sensitive attribute": "sensitive",
    "sa": "sensitive",
    "non-sensitive": "insensitive",
    "nonsensitive": "insensitive",
    "non-confidential": "insensitive",
    "counts": "count",
    "frequency": "count",
    "frequencies": "count",
    "frequency weight": "count",
    "number of rows": "count",
    "rows": "count",
    "weights": "weight",
    "survey weight": "weight",
    "sample weight": "weight",
    "sampling weight": "weight",
    "design weight": "weight",
    "subject id": "subject",
    "data subject": "subject",
    "person": "subject",
    "person id": "subject",
    "individual": "subject",
    "individual id": "subject",
    "patient": "subject",
    "patient id": "subject",
    "respondent": "subject",
    "respondent id": "subject",
    "participant": "subject",
    "participant id": "subject",
    "unit of analysis": "subject",
}


def role_of(word: str) -> str:
    """The house's word for a role, whatever the field calls it.

    >>> role_of("Key variable"), role_of("sensitive")
    ('quasi', 'sensitive')
    """
    if not isinstance(word, str):
        raise ValueError(f"a role is a word: {', '.join(ROLES)}")
    plain = word.strip().lower().replace("_", " ")
    if plain.endswith("?"):
        raise ValueError(
            "the role is only suggested; confirm it by removing the question mark "
            "(or all of them with `tclose policy confirm`)"
        )
    role = SYNONYMS.get(plain, plain)
    if role not in ROLES:
        raise ValueError(f"unknown role; {nearest(plain, ROLES)}")
    return role
