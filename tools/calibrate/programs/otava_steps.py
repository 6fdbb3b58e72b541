"""Steps of series by Apache Otava with its defaults: JSON lists of values in, JSON lists of indexes out."""

import json
import sys

from otava.analysis import compute_change_points

series = json.load(sys.stdin)
changes = [
    compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)[0] for values in series
]
json.dump([[int(point.index) for point in points] for points in changes], sys.stdout)
