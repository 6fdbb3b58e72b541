"""Filters of a comparison's rows, the same on the page and in the API."""

from collections.abc import Sequence
from dataclasses import dataclass

from cliffwatch.comparing.ordering import passes
from cliffwatch.reports.several.across import Across, Target, describe_targets


@dataclass(frozen=True, slots=True)
class Filters:
    """What a reader asks for. Each field is a query parameter; an empty one filters nothing."""

    text: str = ""
    """Words that the row's name has, in any order: suite, benchmark, parameters and metric."""
    suite: str = ""
    verdict: str = ""
    """A member of FILTERS: the verdict over all targets."""
    where: str = ""
    """The targets that have the verdict, in the words of the page."""
    sort: str = "size"
    """A member of SORTS."""
    metrics: str = ""
    """`all` for every metric of a case; else its primary one."""
    platform: str = ""
    mode: str = ""

    @property
    def choosing(self) -> bool:
        """Whether any row may be left out."""
        return bool(self.text or self.suite or self.verdict or self.where)

    def as_query(self) -> dict[str, str]:
        given = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in given.items() if value and (name, value) != ("sort", "size")}

    def choose(self, rows: Sequence[Across], targets: Sequence[Target]) -> Sequence[Across]:
        """The rows that pass every filter."""
        return [row for row in rows if self._passes(row, targets)] if self.choosing else rows

    def _passes(self, row: Across, targets: Sequence[Target]) -> bool:
        if self.suite and row.suite != self.suite:
            return False
        if self.verdict and not passes(row.verdict, self.verdict):
            return False
        if self.where and describe_targets(row, targets) != self.where:
            return False
        name = _name(row) if self.text else ""
        return all(word in name for word in self.text.lower().split())


def _name(row: Across) -> str:
    params = "/".join(f"{key}={value}" for key, value in row.params.items())
    return f"{row.suite}/{row.benchmark}/{params} {' '.join(dict(row.measures))}".lower()
