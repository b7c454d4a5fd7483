"""``commbounds scoreboard``: packages of other people, each in an environment of its own, judged again."""

import sys
from pathlib import Path

import click

from commbounds._progress import progress


@click.command()
@click.argument("packages", nargs=-1)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("docs/scoreboard"),
    show_default=True,
    help="With packages.toml, failures.toml, subjects and programs; results and the page are written there.",
)
@click.option(
    "--environments",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where environments are made; the cache folder by default.",
)
@click.option("--keep", is_flag=True, help="Leave the environments there for the next run: they may be large.")
@click.option("--fresh", is_flag=True, help="Judge again what is known already.")
@click.option("--page", "only_page", is_flag=True, help="Write the page anew, and judge nothing.")
@click.option("--budget", type=click.Choice(("quick", "standard", "thorough")), default="quick", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of all randomness.")
def scoreboard(
    packages: tuple[str, ...],
    folder: Path,
    environments: Path | None,
    keep: bool,
    fresh: bool,
    only_page: bool,
    budget: str,
    seed: int,
) -> None:
    """Judge PACKAGES from PyPI (all without) and write the page. Each has an environment of its own.

    What is known of the same version, subjects, budget and seed is left out; an interrupted run goes on from there.

    Exits with 0 if everything that fails is written about, 1 if something is not or could not be judged that was
    before, 2 for wrong usage.
    """
    from commbounds.folders import cache_folder, ready
    from commbounds.verify.scoreboard.page import outdated, page, unexplained
    from commbounds.verify.scoreboard.records import read
    from commbounds.verify.scoreboard.run import RunOptions, run
    from commbounds.verify.writing import written

    try:
        before = read(folder)
        if only_page:
            if packages:
                raise ValueError("the page is about all packages: give none with --page")
            board = before
            written(folder / "README.md", page(board).encode())
        else:
            place = environments or cache_folder() / "scoreboard"
            ready(place)
            ready(folder)
            options = RunOptions(place.resolve(), budget, seed, keep, fresh)
            with progress("packages") as shown:
                shown.expect(len(set(packages) or before.packages))
                board = run(folder.resolve(), packages, options, shown.say, shown.advance)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    lost = [
        f"{result['package']} was judged before, and is not now: {result['problem']}"
        for result in board.results
        if "problem" in result and any("problem" not in old for old in before.of(result["package"]))
    ]
    wrong = [*unexplained(board), *outdated(board), *lost]
    for text in wrong:
        click.echo(text, err=True)
    judged = [result for result in board.results if "problem" not in result]
    click.echo(
        f"{folder / 'README.md'}: {len(judged)} subjects of {len({result['package'] for result in judged})} packages, "
        f"{len(board.failures)} failures explained, {len(wrong)} open"
    )
    sys.exit(1 if wrong else 0)
