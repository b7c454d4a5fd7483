"""``commbounds check --mpi``: the first process judges and prints, the others serve its calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from commbounds.verify.conformance.job import Job
    from commbounds.verify.conformance.subject import Subject


def gathered(targets: tuple[str, ...]) -> tuple[Job, list[Subject]]:
    """The job's processes and the subjects, as they are on the first process: only that one comes back from here.

    Raises
    ------
    click.UsageError
        There is no MPI or one process, or some process cannot load a subject.
    """
    from commbounds.verify.conformance.job import this_job
    from commbounds.verify.conformance.loading import loaded
    from commbounds.verify.conformance.mpi import on_processes

    try:
        job = this_job()
    except ModuleNotFoundError as error:
        raise click.UsageError(str(error)) from error
    if job.size == 1:
        raise click.UsageError("--mpi needs several processes, there is one: mpirun -n 3 commbounds check --mpi ...")
    trouble = ""
    subjects: list[Subject] = []
    left_out: list[str] = []
    try:
        subjects, left_out = on_processes([subject for target in targets for subject in loaded(target)])
    except (ValueError, TypeError) as raised:
        trouble = str(raised)
    except Exception as raised:
        trouble = f"the subjects cannot be loaded: {type(raised).__name__}: {raised}"
    trouble = job.agreed(trouble)
    if trouble and job.rank == 0:
        raise click.UsageError(trouble)
    if job.rank:
        sys.exit(2 if trouble else job.serve())
    for line in left_out:
        click.echo(line, err=True)
    return job, subjects


@contextmanager
def leading(job: Job) -> Iterator[Callable[[int], None]]:
    """As `Job.leading`, where wrong usage ends the others with 2."""
    usage: click.UsageError | None = None
    with job.leading() as end:
        try:
            yield end
        except click.UsageError as error:
            end(2)
            usage = error
    if usage is not None:
        raise usage
