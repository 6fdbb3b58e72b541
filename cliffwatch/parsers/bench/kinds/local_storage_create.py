"""Local storages created per second, and allocations per creation, which linux 7.3 no longer prints."""

from cliffwatch.parsers.bench.kind import ITER, Kind, LineForm, MetricShape

KIND = Kind(
    name="local-storage-create",
    metrics={
        "creates": MetricShape("k ops/s", "higher", primary=True, field="creates"),
        "creates-per-producer": MetricShape("k ops/s", "higher", field="per_prod"),
        "kmallocs": MetricShape("kmallocs/create", "lower", field="kmallocs", step=0.01),
    },
    forms=(
        LineForm("iter", ITER + "creates {creates} k/s ( {per_prod} k/prod)[, {kmallocs} kmallocs/create]"),
        LineForm(
            "summary", "Summary: creates {creates} ± {} k/s ( {per_prod} k/prod), {kmallocs} kmallocs/create"
        ),
        LineForm("summary", "Summary: creates {creates} ± {} k/s ( {per_prod} k/prod), {} total"),
        LineForm("failure", r"{:socket|pthread_create}() errors {errors:\d+} create_errs {create:\d+}"),
    ),
    rate="creates",
)
