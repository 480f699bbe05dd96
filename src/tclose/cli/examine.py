"""Commands that look closer at a table or a release: explain, attack, measure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import tclose
from tclose.cli import console, options
from tclose.cli.options import of_person, option
from tclose.errors import UsageError


@console.guard
def explain(
    file: options.Table,
    *,
    declared: options.DeclaredColumns,
    class_number: Annotated[
        int | None,
        option(
            "N",
            "Number of the class. Default: the class farthest from the table.",
            "--class-number",
            "--class",
        ),
    ] = None,
    attribute: Annotated[
        str | None, option("A", "The sensitive attribute. Default: the first.")
    ] = None,
    ranges: Annotated[
        int, option("N", "Number of ranges for a numeric attribute with many values.", min=2)
    ] = 20,
    svg: Annotated[
        Path | None, option("FILE", "Also write a picture (SVG) that compares class and table.")
    ] = None,
    arcs: Annotated[
        bool, option("", "Draw the moves as arcs instead of bars in the picture.", "--arcs")
    ] = False,
    fragments: Annotated[
        bool,
        option(
            "",
            "Show how the method `fragments` divides two sensitive columns.",
            "--fragments",
        ),
    ] = False,
    reading: options.ReadingOptions,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Explain the distance between one class and the whole table.

    The distance is the least work that turns one distribution into the other. The moves are shown
    between neighbours and from value to value; in both cases their costs add up to the distance.
    This prints values of the table, so it is for the data steward only.
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
    file: options.Table,
    policy: options.Policy,
    original: Annotated[options.Place | None, options.of_original] = None,
    population: options.Population = None,
    other: Annotated[
        options.Place | None,
        options.table_option(
            help="Another release about the same people, for the composition attack."
        ),
    ] = None,
    key: options.Key = None,
    seed: Annotated[int, option("N", "Seed for the sampling of rows.")] = 1,
    effort: Annotated[
        float,
        option(
            "SECONDS",
            "Work for slow attacks in seconds of an ordinary core; beyond it, rows are sampled.",
            min=0,
        ),
    ] = 5,
    person: Annotated[
        list[str] | None,
        of_person("A=1,B=2", "Quasi-identifiers known of one person, as raw values (repeatable)."),
    ] = None,
    attribute: Annotated[
        str | None, of_person("A", "The sensitive attribute. Default: the first.")
    ] = None,
    ruled_out: Annotated[
        list[str] | None,
        of_person(
            "TEXT",
            "A sensitive value, or group of values, that is ruled out (repeatable).",
            "--not",
        ),
    ] = None,
    prior: Annotated[
        list[str] | None,
        of_person(
            "V=0.3,…",
            "Prior belief in some values (repeatable); the others share the rest equally.",
        ),
    ] = None,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Try known attacks on a release and report what each could learn.

    No values of the table are printed; classes and values are identified by numbers. The promise is
    not judged (`tclose verify` does that), so the exit code is 0 whatever is found.

    With --person: the probability of each sensitive value of one person before the release, from
    the table, and from the class. This prints sensitive values, so it is for the data steward only.
    The values given with --person are not printed.
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
    release: Annotated[
        options.Place, options.table_argument(metavar="RELEASE", help="The released table.")
    ],
    original: Annotated[options.Place, options.of_original],
    policy: options.Policy,
    queries: Annotated[
        int, option("N", "How many random counting queries to compare; 0 for none.", min=0)
    ] = 1000,
    columns: Annotated[
        int, option("N", "How many quasi-identifiers each query restricts.", min=1)
    ] = 3,
    share: Annotated[
        float, option("SHARE", "Share of the rows that each query should select.")
    ] = 0.1,
    target: Annotated[
        str | None,
        option("COLUMN", "Also train models that predict this column (needs scikit-learn)."),
    ] = None,
    key: options.Key = None,
    seed: Annotated[int, option("N", "Seed of queries, models and sampled rows.")] = 1,
    effort: Annotated[
        float,
        option(
            "SECONDS",
            "Amount of work in seconds of an ordinary core; beyond that, rows are sampled.",
        ),
    ] = 10.0,
    without: Annotated[
        list[str] | None, option("MEASURE", "A measure to leave out (repeatable).")
    ] = None,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Measure the utility of a release: information loss, query errors, learning.

    Works for releases of any tool whose values can be read (intervals, sets, masks, labels of the
    policy's hierarchies).
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
