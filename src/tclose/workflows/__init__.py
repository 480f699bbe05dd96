"""The public verbs, one per file: audit, verify, explain, anonymize, apply, split, and so on.

Each wires the rooms below together and computes nothing: open, bind the policy to the table,
compile its constraints, search, recode, write, recount, certify. Nothing that proposes certifies:
what was written is read back and counted by `verify` before it is moved into place, and a release
that does not keep its promise is never made.
"""
