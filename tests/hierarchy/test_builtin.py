"""Built-in hierarchies: lists that are whole and consistent, values where they belong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import Result

import tclose
from tclose.hierarchy import arx
from tclose.hierarchy.builtin import describe_builtin, find_builtin, list_builtins

LISTS = ["countries", "education", "icd10", "occupation", "us_zip"]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_names_its_version_and_source_and_makes_one_tree(name: str) -> None:
    assert all(describe_builtin(name))
    found = find_builtin(name)
    assert len(set(found.listed)) == len(found.listed)
    tree = found.build(found.listed, "column")
    assert set(tree.leaves) == set(found.listed) and tree.labels[-1] == "*"
    for label in tree.labels[tree.leaf_count : -1]:
        assert label in (found.climb(found.find_member(label)) or ())


def test_icd10_has_its_22_chapters_and_blocks_that_do_not_overlap() -> None:
    found = find_builtin("icd10")
    chains = [found.climb(code) or () for code in found.listed]
    chapters = {chain[-1] for chain in chains}
    assert len(chapters) == 22
    ranges = sorted({tuple(chain[1].split("-")) for chain in chains})
    assert len(ranges) > 200
    assert all(low <= high for low, high in ranges)
    assert all(before[1] < after[0] for before, after in pairwise(ranges))


@pytest.mark.parametrize(
    ("code", "above"),
    [
        ("J45.901", ["J45*", "J40-J47", "J00-J99 breathing"]),
        ("e119", ["E11*", "E10-E14", "E00-E90 hormones, nutrition and metabolism"]),
        ("C50.911", ["C50*", "C50-C50", "C00-D48 neoplasms"]),
        ("D49.2", ["D49*", "D37-D48", "C00-D48 neoplasms"]),
        ("M1A.0", ["M1A*", "M05-M14", "M00-M99 muscles and bones"]),
        ("V00.1", ["V00*", "V01-V09", "V01-Y98 external causes"]),
        ("U07.1", ["U07*", "U00-U49", "U00-U99 special purposes"]),
        ("B14", ["B14*", "A00-B99 infections"]),
        ("flu", []),
    ],
)
def test_a_diagnosis_stands_in_its_block_and_chapter(code: str, above: list[str]) -> None:
    assert list(find_builtin("icd10").climb(code) or ()) == above


def test_zip_codes_of_small_areas_are_000() -> None:
    by_2000 = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split()
    climb = find_builtin("us_zip").climb
    small = {code[:3] for code in find_builtin("us_zip").listed if climb(code) == ("000**",)}
    by_2010 = "036 059 102 202 203 204 205 369 556 692 753 772 821 823 878 879 884 893".split()
    assert small == {*by_2000, *by_2010}
    assert climb("02139-1234") == climb("02139") == climb("2139") == ("021**", "0****")
    assert climb("05901") == ("000**",) and climb("SW1A 1AA") is None
    assert "2000" in describe_builtin("us_zip")[2] and "2012" in describe_builtin("us_zip")[2]


def test_countries_are_the_249_of_iso_and_their_un_regions() -> None:
    found = find_builtin("countries")
    two = [code for code in found.listed if len(code) == 2 and code.isupper() and code != "UK"]
    three = [code for code in found.listed if len(code) == 3 and code.isupper() and code != "UAE"]
    assert len(two) == len(three) == 249
    parts = Counter((found.climb(code) or ())[0] for code in two)
    known = {"Western Europe": 9, "Northern Africa": 7, "Central America": 8, "Central Asia": 5}
    assert {part: parts[part] for part in known} == known
    for word in ("Germany", "DE", "DEU", "germany"):
        assert found.climb(word) == ("Western Europe", "Europe")
    assert found.climb("cote d'ivoire") == ("Western Africa", "Africa")


def test_education_and_occupation_know_the_words_of_the_adult_table() -> None:
    schooling = (
        "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-acdm "
        "Assoc-voc Bachelors Masters Prof-school Doctorate"
    ).split()
    education, occupation = find_builtin("education"), find_builtin("occupation")
    order = [(education.climb(word) or ("",))[0] for word in schooling]
    assert "" not in order and order == sorted(order)
    work = (
        "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
        "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
        "Priv-house-serv Protective-serv Armed-Forces"
    ).split()
    assert all(occupation.climb(word) for word in work)
    assert occupation.climb("2221") == ("22 health", "2 professionals", "skill levels 3-4")


POLICY: dict[str, Any] = {
    "k": 4,
    "columns": {
        "age": {"role": "quasi", "hierarchy": {"builtin": "ages"}},
        "born": {"role": "quasi", "hierarchy": {"builtin": "birth_dates"}},
        "zip": {"role": "quasi", "hierarchy": {"builtin": "us_zip"}},
        "country": {"role": "quasi", "hierarchy": {"builtin": "countries"}},
        "dx": {
            "role": "sensitive",
            "t": 0.5,
            "hierarchy": {"builtin": "icd10"},
            "distance": "hierarchical",
        },
    },
}


def make_table() -> pd.DataFrame:
    rows = range(48)
    return pd.DataFrame(
        {
            "age": [20 + 3 * (row % 25) for row in rows],
            "born": [f"{1930 + row}-0{1 + row % 9}-15" for row in rows],
            "zip": [["02139", "02140", "05901", "90210", "94103"][row % 5] for row in rows],
            "country": [["DE", "FR", "US", "Narnia"][row % 4] for row in rows],
            "dx": [["J45.9", "J44.1", "E11.9", "I10"][row % 4] for row in rows],
        }
    )


@pytest.mark.parametrize("method", ["mondrian", "optimal"])
def test_a_release_by_built_in_hierarchies_is_read_back_and_its_plan_applied(method: str) -> None:
    table = make_table()
    release = tclose.anonymize(table, POLICY, method=method, effort=1)
    assert release.holds and tclose.verify(release.data, POLICY).holds
    labels = {label for name in ("zip", "country") for label in release.data[name]}
    assert labels <= {
        *table["zip"],
        *table["country"],
        "*",
        "000**",
        "Europe",
        "Western Europe",
        "021**",
        "0****",
        "9****",
        "902**",
        "941**",
        "Americas",
        "Northern America",
    }
    again = tclose.apply(release.plan, table, policy=POLICY)
    assert again.holds


def test_values_that_a_list_does_not_know_are_counted_and_not_shown() -> None:
    notes = " ".join(tclose.audit(make_table(), POLICY).notes)
    assert "1 distinct values of 'country' are not in the built-in hierarchy 'countries'" in notes
    assert "Narnia" not in notes


def test_the_hierarchical_distance_follows_blocks_and_chapters() -> None:
    """J45.9 and J44.1 meet in their block, two levels up of four; other pairs at the root."""
    policy = {"columns": {"age": "quasi", "dx": POLICY["columns"]["dx"]}}
    table = make_table()[["dx"]]
    table = table.assign(age=[int(dx != "J45.9") for dx in table["dx"]])
    found = tclose.audit(table, policy).requirements[0]
    # Class 0 is all J45.9: a quarter stays, one comes from J44.1 at 2/4, two from elsewhere at 1.
    assert str(found.achieved_exact) == "5/8"


def test_the_command_lists_prints_and_writes(run: Callable[..., Result], elsewhere: Path) -> None:
    listed = run("hierarchy", "builtin").output
    assert all(name in listed for name in list_builtins())
    printed = run("hierarchy", "builtin", "us_zip").output
    assert "164.514" in printed and "000**" in printed
    assert run("hierarchy", "builtin", "countries", "-o", "c.csv").exit_code == 0
    assert arx.read(Path("c.csv"), "c").generalize("Japan", 1) == "Eastern Asia"
    again = run("hierarchy", "builtin", "countries", "-o", "c.csv")
    assert again.exit_code == 2 and "--force" in again.output
    wrong = run("hierarchy", "builtin", "icd11")
    assert wrong.exit_code == 2 and "icd10" in wrong.output
    for name in ("ages", "birth_dates"):
        assert run("hierarchy", "builtin", name).exit_code == 0
    make_table().to_csv("t.csv", index=False)
    shown = run("hierarchy", "preview", "t.csv", "-c", "dx", "--builtin", "icd10")
    assert shown.exit_code == 0 and "J40-J47" in shown.output


def test_a_policy_with_an_unknown_name_is_told_the_nearest() -> None:
    policy = {"columns": {"age": {"role": "quasi", "hierarchy": {"builtin": "age"}}}}
    with pytest.raises(tclose.PolicyError, match="did you mean 'ages'"):
        tclose.audit(make_table()[["age"]], policy)
