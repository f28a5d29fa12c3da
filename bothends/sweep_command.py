"""`bothends sweep`: translate once, execute at every scale factor."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from bothends.attend import attended
from bothends.emr_sweep import Place, place_of_jobs, priced_there
from bothends.options import with_options_of
from bothends.run_command import experiment_of, recording_of, run
from bothends.scales import scale_factors_of

__all__ = ["sweep"]


@with_options_of(run, but=("scale_factor", "fork"))
def sweep(
    context: typer.Context,
    *,
    scale_factors: Annotated[
        str, typer.Option(help="Scale factors at which queries are executed, as in 0.01,0.1,1.")
    ],
    translate_at: Annotated[
        float | None,
        typer.Option(help="Scale factor at which the agent works. Default: the smallest of these."),
    ] = None,
    skip_after_timeout: Annotated[
        bool,
        typer.Option(
            "--skip-after-timeout",
            help="Do not try a query that passed --timeout at larger scale factors: it is taken, "
            "and charged, to pass it there too.",
        ),
    ] = False,
    on: Annotated[
        str | None,
        typer.Option(
            help="Where larger scale factors are executed: `emr`, as steps of a cluster, or "
            "`emr-serverless`. Default: here."
        ),
    ] = None,
    cluster: Annotated[
        str, typer.Option(help="The name that `bothends cluster emr up` was given.")
    ] = "bothends",
    cluster_id: Annotated[
        str | None, typer.Option(help="A cluster by its id, in place of that one.")
    ] = None,
    bucket: Annotated[
        str | None, typer.Option(help="The bucket for jobs. Default: the cluster's.")
    ] = None,
    region: Annotated[
        str | None, typer.Option(help="The region of --cluster-id. Default: AWS_REGION.")
    ] = None,
    keep_cluster: Annotated[
        bool,
        typer.Option(
            "--keep-cluster", help="Leave the cluster up; otherwise it ends however this ends."
        ),
    ] = False,
    keep_objects: Annotated[
        bool, typer.Option("--keep-objects", help="Leave the jobs' objects in the bucket.")
    ] = False,
    **options: Any,
) -> None:
    """Translate each question once, and execute query and gold at every scale factor.

    What a model takes is that of the one translation; what the engine takes is measured at each
    scale. The same command goes on where it was stopped; with more scale factors, models,
    questions or replicas it runs what is new of them. Exits with 3 where the budget ended it.
    """
    from bothends.eval.sweep import check_scale_factors, run_sweep
    from bothends.launch import sweep_directory

    file: Path | None = options["experiment"]
    scales = scale_factors_of(scale_factors)
    home = translate_at if translate_at is not None else min(scales)
    check_scale_factors((home,))
    experiment = experiment_of(context, file, {**options, "scale_factor": home}).model_copy(
        update={"scale_factor": home}
    )
    directory = options["out"] or sweep_directory(experiment, file)
    _refuse_idle(on, cluster_id, bucket, region, keep_cluster, keep_objects)
    place = on and Place(on, cluster, cluster_id, bucket, region, keep_cluster, keep_objects)
    with place_of_jobs(place) if place else nullcontext() as site:
        swept = experiment if site is None else priced_there(experiment, site)
        attended(
            directory,
            lambda progress: run_sweep(
                swept,
                scales,
                directory,
                skip_after_timeout=skip_after_timeout,
                **recording_of(options),
                watcher=progress,
                site=site,
            ),
            ask=not options["yes"],
        )


def _refuse_idle(on: str | None, *of_place: object) -> None:
    from bothends.infra.errors import UsageError

    if on is None and any(of_place):
        raise UsageError(
            "--cluster-id, --bucket, --region, --keep-cluster and --keep-objects are of a sweep on "
            "a cluster: give --on emr or --on emr-serverless as well"
        )
