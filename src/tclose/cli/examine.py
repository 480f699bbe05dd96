"""Commands that look closer at a table or a release: explain, attack, measure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import tclose
from tclose.cli import console, options
from tclose.errors import UsageError


@console.guard
def explain(
    file: options.Place,
    *,
    declared: options.DeclaredColumns,
    class_number: int | None = None,
    attribute: str | None = None,
    ranges: int = 20,
    svg: Path | None = None,
    arcs: bool = False,
    fragments: bool = False,
    reading: options.ReadingOptions,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Explain the distance between one class and the whole table.

    The distance is the least work that turns one distribution into the other. The moves are shown
    between neighbours and from value to value; in both cases their costs add up to the distance.
    This prints values of the table, so it is for the data steward only.

    --class-number, --class N: Number of the class. Default: the class farthest from the table.
    --attribute A: The sensitive attribute. Default: the first.
    --ranges N≥2: Number of ranges for a numeric attribute with many values.
    --svg FILE: Also write a picture (SVG) that compares class and table.
    --arcs: Draw the moves as arcs instead of bars in the picture.
    --fragments: Show how the method `fragments` divides two sensitive columns.
    """
    from tclose.data.io.files import write_text
    from tclose.report import draw_differences, draw_flow
    from tclose.report.explanation import summarize_explanation
    from tclose.report.fragments import draw_matrix, summarize_matrix

    if arcs and svg is None:
        raise UsageError("--arcs needs a picture", where="arcs", hint="name a picture with --svg")

    if svg is not None:
        options.refuse_picture(svg, (file, declared["policy"]), force=force)
    if fragments:
        if class_number is not None or attribute is not None or arcs:
            what = "fragments are of the whole table and of two columns"
            raise UsageError(what, where="fragments", hint="leave out the class, column and arcs")
        with console.progress() as step:
            found = tclose.explain_fragments(
                file, declared["policy"], reading=reading, progress=step
            )
        if svg is not None:
            write_text(svg, draw_matrix(found))
            console.say(f"picture: {svg}")
        return console.show(found, summarize_matrix, as_json=as_json)
    with console.progress() as step:
        why = tclose.explain(
            file,
            **declared,
            class_number=class_number,
            attribute=attribute,
            ranges=ranges,
            reading=reading,
            progress=step,
        )
    if svg is not None:
        write_text(svg, draw_flow(why) if arcs else draw_differences(why))
        console.say(f"picture: {svg}")
    console.show(why, summarize_explanation, as_json=as_json)


@console.guard
def attack(
    file: options.Place,
    policy: Path,
    original: options.Place | None = None,
    population: options.Place | None = None,
    other: options.Place | None = None,
    key: str | None = None,
    seed: int = 1,
    effort: float = 5,
    person: list[str] | None = None,
    attribute: str | None = None,
    ruled_out: list[str] | None = None,
    prior: list[str] | None = None,
    *,
    reading: options.ReadingOptions,
    as_json: bool = False,
) -> None:
    """Try known attacks on a release and report what each could learn.

    No values of the table are printed; classes and values are identified by numbers. The promise is
    not judged (`tclose verify` does that), so the exit code is 0 whatever is found.

    With --person: the probability of each sensitive value of one person before the release, from
    the table, and from the class. This prints sensitive values, so it is for the data steward only.
    The values given with --person are not printed.

    --other FILE: Another release about the same people, for the composition attack.
    --seed N: Seed for the sampling of rows.
    --effort SECONDS≥0: Work for slow attacks in seconds of an ordinary core; beyond it, rows are
        sampled.
    One person:
    --person A=1,B=2: Quasi-identifiers known of one person, as raw values (repeatable).
    --attribute A: The sensitive attribute. Default: the first.
    ruled_out --not TEXT: A sensitive value, or group of values, that is ruled out (repeatable).
    --prior V=0.3,…: Prior belief in some values (repeatable); the others share the rest equally.
    """
    from tclose.report.summaries import summarize_attacks, summarize_person

    aimed = {"--attribute": attribute, "--not": ruled_out, "--prior": prior}
    if person:
        others: dict[str, object] = {
            "--original": original, "--population": population, "--other": other, "--key": key,
            "--seed": None if seed == 1 else seed, "--effort": None if effort == 5 else effort,
        }  # fmt: skip
        _refuse_given(others, "about all rows, not about one person: leave it out")
        with console.progress() as step:
            belief = tclose.attack_person(
                file,
                policy,
                person=options.read_pairs(person, "--person"),
                attribute=attribute,
                ruled_out=ruled_out or (),
                prior=options.read_pairs(prior or (), "--prior", "flu=0.3", str.rpartition),
                reading=reading,
                progress=step,
            )
        return console.show(belief, summarize_person, as_json=as_json)
    _refuse_given(aimed, "about one person: name what is known of them with --person")
    with console.progress() as step:
        report = tclose.attack(
            file,
            policy,
            original=original,
            population=population,
            other=other,
            key=key,
            seed=seed,
            effort=effort,
            reading=reading,
            progress=step,
        )
    console.show(report, summarize_attacks, as_json=as_json)


def _refuse_given(given: Mapping[str, object], hint: str) -> None:
    """Raises where an option is given that has nothing to say here."""
    for name, value in given.items():
        if value not in (None, []):
            raise UsageError("this option has no effect here", where=name, hint=hint)


@console.guard
def measure(
    release: options.Place,
    original: options.Place,
    policy: Path,
    queries: int = 1000,
    columns: int = 3,
    share: float = 0.1,
    target: str | None = None,
    key: str | None = None,
    seed: int = 1,
    effort: float = 10.0,
    without: list[str] | None = None,
    *,
    reading: options.ReadingOptions,
    as_json: bool = False,
) -> None:
    """Measure the utility of a release: information loss, query errors, learning.

    Works for releases of any tool whose values can be read (intervals, sets, masks, labels of the
    policy's hierarchies).

    RELEASE: The released table.
    --queries N≥0: How many random counting queries to compare; 0 for none.
    --columns N≥1: How many quasi-identifiers each query restricts.
    --share SHARE: Share of the rows that each query should select.
    --target COLUMN: Also train models that predict this column (needs scikit-learn).
    --seed N: Seed of queries, models and sampled rows.
    --effort SECONDS: Amount of work in seconds of an ordinary core; beyond that, rows are sampled.
    --without MEASURE: A measure to leave out (repeatable).
    """
    from tclose.report.summaries import summarize_utility

    with console.progress() as step:
        result = tclose.measure(
            original=original,
            release=release,
            policy=policy,
            queries=queries,
            columns=columns,
            share=share,
            target=target,
            key=key,
            seed=seed,
            effort=effort,
            without=without or (),
            reading=reading,
            progress=step,
        )
    console.show(result, summarize_utility, as_json=as_json)
