"""Made-up data to try things on: a hospital, its policy and its tree of diagnoses.

Every value is drawn from the tables in this folder. No person, place or people in it is real.

>>> hospital(rows=3).column_names[:3]
['name', 'national_id', 'birth_date']
"""

from tclose.sample.diagnosis import diagnosis_chains
from tclose.sample.folder import HOSPITAL_POLICY, write_hospital
from tclose.sample.hospital import HOSPITAL_SCHEMA, hospital, hospital_blocks

__all__ = [
    "HOSPITAL_POLICY", "HOSPITAL_SCHEMA", "diagnosis_chains", "hospital", "hospital_blocks",
    "write_hospital",
]  # fmt: skip
