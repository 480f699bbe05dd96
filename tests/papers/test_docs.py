"""The documentation says what the program does: its policies parse, its tests exist."""

from __future__ import annotations

import ast
import re
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import BaseModel

from tclose.distance.registry import DISTANCES
from tclose.policy.columns import ROLES, SYNONYMS, Column, role_of
from tclose.policy.load import list_parts, parse_policy
from tclose.policy.model import Policy

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ("explanation/papers.md", "explanation/promise.md", "reference/policy.md")


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings can be linked to."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title.lower()) for title in titles]
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize("text", blocks("reference/policy.md", "toml"))
def test_every_policy_in_the_documentation_parses_without_a_problem(text: str) -> None:
    policy, problems = parse_policy(tomllib.loads(text, parse_float=Decimal))
    assert problems == []
    assert policy is not None


def test_the_documentation_shows_policies() -> None:
    assert len(blocks("reference/policy.md", "toml")) > 10


def test_a_drafted_policy_is_refused_until_it_is_confirmed() -> None:
    (draft,) = [text for text in blocks("reference/policy.md", "text") if "[columns]" in text]
    policy, problems = parse_policy(tomllib.loads(draft))
    assert policy is None
    assert sum("only suggested" in problem.what for problem in problems) == 3
    confirmed, left = parse_policy(tomllib.loads(draft.replace('?"', '"')))
    assert left == []
    assert confirmed is not None and confirmed.quasi == ("age",)


def keys_of(part: type[BaseModel]) -> list[str]:
    return list(part.model_fields)


@pytest.mark.parametrize(
    "part", [Policy, Column, *list_parts(Policy).values()], ids=lambda part: part.__name__
)
def test_every_key_of_a_policy_is_documented(part: type[BaseModel]) -> None:
    text = (DOCS / "reference/policy.md").read_text(encoding="utf-8")
    told = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    parts = list_parts(Policy)
    # the long forms of a distance and of a reference
    unmentioned = {"name"} if part in (parts["distance"], parts["reference"]) else set()
    assert set(keys_of(part)) - unmentioned <= told


def test_every_distance_and_role_is_documented() -> None:
    for page in ("reference/policy.md", "explanation/promise.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        assert [name for name in DISTANCES if name not in text] == []
    text = (DOCS / "reference/policy.md").read_text(encoding="utf-8")
    assert [role for role in ROLES if f"`{role}`" not in text] == []


def test_every_documented_synonym_of_a_role_is_understood() -> None:
    text = (DOCS / "reference/policy.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"Other words of the field(.*?)\n\n", text, re.DOTALL)
    words = re.findall(r"`([^`]+)`", listed)
    assert len(words) > 10
    assert [word for word in words if word not in SYNONYMS] == []
    assert {role_of(word) for word in words} == set(ROLES)


def test_every_test_that_the_papers_page_names_exists() -> None:
    text = (DOCS / "explanation/papers.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    defined = {
        node.name
        for room in ("papers", "reproduce")
        for path in (Path(__file__).parents[1] / room).glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert len(named) > 40
    assert sorted(named - defined) == []


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        name, _, anchor = target.partition("#")
        place = (DOCS / page).parent / name if name else DOCS / page
        assert place.is_file(), target
        assert not anchor or anchor in anchors(place), target
