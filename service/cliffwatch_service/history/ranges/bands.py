"""Up to which difference two values of a series are equal."""

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.thresholds import COUNTED
from cliffwatch.samples import CaseKey
from cliffwatch_service.store.series import SeriesRow


def band_of(series: SeriesRow) -> float | None:
    """Returns the repeatability band of a counted series, a fraction; None for a noisy series.

    Two values differ if the change between them is larger than the band.
    """
    case = CaseKey(series.suite, series.benchmark, tuple((name, value) for name, value in series.params))
    traits = load_catalogue().traits(case, series.metric, series.unit, series.mode)
    return max(COUNTED, traits.repeatability) if traits.assume == "exact" else None
