"""The only room that touches frames, files and databases: everything above it sees integers.

A table is opened as a `Source` (`opening`), counted by its engine, bound to a policy (`binding`);
where its cells are too many for one place, it is summarized column by column (`summary`) and worked
on in parts that the engine keeps. Floors, from below: `io`, the `source` that engines promise,
`encode`, `engines`, and what is made of them.
"""
