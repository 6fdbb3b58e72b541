"""How numbers are written in every report."""

from cliffwatch.comparing.comparison import Comparison, Control, Mean

NOT_SIGNIFICANT = "~"


def value(number: float | None) -> str:
    """Three decimals, fewer where the number is large; `-` for what does not exist."""
    if number is None:
        return "-"
    if abs(number) >= 100_000:
        return f"{number:,.0f}"
    return f"{number:.3f}"


def percent(fraction: float | None) -> str:
    """With sign and two decimals: `+4.91 %`; three where two would show zero."""
    if fraction is None:
        return "-"
    digits = 2 if abs(fraction) >= 0.00005 or fraction == 0 else 3
    return f"{fraction:+.{digits}%}".replace("%", " %")


def change(row: Comparison) -> str:
    """The change, or `~` where it lies within the noise."""
    if row.change is None:
        return "-"
    return percent(row.change) if row.beyond_noise else NOT_SIGNIFICANT


def interval(row: Comparison) -> str:
    if row.ci_low is None or row.ci_high is None:
        return "-"
    return f"{percent(row.ci_low)} .. {percent(row.ci_high)}"


def sees(row: Comparison) -> str:
    """The smallest change that this row could have seen."""
    return "-" if row.mde is None else f"{row.mde:.2%}".replace("%", " %")


def counts(row: Comparison) -> str:
    return str(row.n_base) if row.n_base == row.n_head else f"{row.n_base}/{row.n_head}"


def mean(found: Mean) -> str:
    """`-7.56 % (-8.10 % .. -7.02 %)`; without bounds where there are too few boots."""
    if found.ci_low is None or found.ci_high is None:
        return percent(found.change)
    return f"{percent(found.change)} ({percent(found.ci_low)} .. {percent(found.ci_high)})"


def control(found: Control) -> str:
    """What base against itself showed: the floor below which no difference means anything."""
    return f"{found.published} of {found.rows} rows would have been told, largest difference {percent(found.largest)}"
