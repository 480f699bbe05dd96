"""What a careful steward would declare about the made-up hospital table."""

from __future__ import annotations

HOSPITAL_POLICY = """\
# What may be published about the made-up hospital, and on what promise.
# Every column is named: a column nobody thought about is a column nobody protected.

# Whoever is looked for hides among at least five patients.
k = 5

[columns]
# Point at one person by themselves; they never leave the house.
name = "identifier"
national_id = "identifier"

# Known to neighbours, colleagues, employers: together they pick a person out of the crowd.
sex = "quasi"
ethnicity = "quasi"

# A bill to the cent is nearly unique and follows the diagnosis: as good as a name. It stays here.
cost = "identifier"

[columns.birth_date]
role = "quasi"
hierarchy = { dates = ["month", "year", "decade"] }

[columns.postcode]
# Generalized to part of a district, the district, the region, and at last to nothing.
role = "quasi"
hierarchy = { prefix = [3, 2, 1, 0] }

[columns.admission_date]
# Whoever saw the ambulance knows the day: the date can be linked, so it is not harmless.
role = "quasi"
hierarchy = { dates = ["month", "year"] }

[columns.diagnosis]
# What must not be learned. In every group the diagnoses must be spread nearly as in the whole
# hospital, where mistaking one heart disease for another counts less than mistaking it for a birth;
# and every group must show at least three different ones.
role = "sensitive"
hierarchy = "diagnosis.csv"
distance = "hierarchical"
t = 0.2
l = { distinct = 3 }

[columns.length_of_stay]
# A long stay betrays a grave illness. Days have an order, so being off by one counts for little.
role = "sensitive"
distance = "ordered"
t = "1/5"
"""
"""The policy as TOML text; it expects `diagnosis.csv` beside it."""
