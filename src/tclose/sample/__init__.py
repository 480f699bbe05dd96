"""Nobody's data to try things on: a made-up hospital, its policy and its tree of diagnoses.

- `hospital`: the table itself, of any length, in memory or block by block
- `diagnosis`: the diseases, their tree, and who tends to have them
- `people`: names and national numbers that belong to nobody
- `wheel`: weighted choice among categories, in whole numbers
- `policy`: what a careful steward would declare about this table
- `folder`: table, policy and tree written as the files a user would have

Every value is drawn from the tables in this room. No person, place or people in it is real.

>>> hospital(rows=3).column_names[:3]
['name', 'national_id', 'birth_date']
"""

from tclose.sample.diagnosis import diagnosis_chains
from tclose.sample.folder import write_hospital
from tclose.sample.hospital import HOSPITAL_SCHEMA, hospital, hospital_blocks
from tclose.sample.policy import HOSPITAL_POLICY

__all__ = [
    "HOSPITAL_POLICY",
    "HOSPITAL_SCHEMA",
    "diagnosis_chains",
    "hospital",
    "hospital_blocks",
    "write_hospital",
]
