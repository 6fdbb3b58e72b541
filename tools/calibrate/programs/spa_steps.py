"""Steps of series by MongoDB's signal-processing-algorithms with its defaults: JSON lists of values in, of
indexes out.
"""

import json
import sys

import numpy as np
from signal_processing_algorithms.energy_statistics.energy_statistics import e_divisive

np.random.seed(1)  # noqa: NPY002 - its permutations draw from the global generator
series = json.load(sys.stdin)
changes = [e_divisive(np.array(values), pvalue=0.05, permutations=100) for values in series]
json.dump([sorted(int(index) for index in indexes) for indexes in changes], sys.stdout)
