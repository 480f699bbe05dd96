"""What the data steward declares: a policy holds no data and can be kept under version control.

- `model` the policy as one validated object; synonyms of the field's terms are understood
- `load`  reads TOML or JSON, reports every problem at once, and gives the JSON Schema for editors
- `draft` writes a commented first policy, of what `suggest` makes of the columns of a table
"""
