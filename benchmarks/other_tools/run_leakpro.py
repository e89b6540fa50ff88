"""Whether LeakPro is installed; a package of its name on PyPI has nothing of it.

python run_leakpro.py FOLDER
"""

import sys

from problem import Results

results = Results("leakpro")
try:
    from leakpro import LeakPro  # noqa: F401
except ImportError:
    results.facts["not run"] = "the package on PyPI has no LeakPro, which is on GitHub alone"
else:
    # Its handlers are for torch modules, which the forest of this comparison is not.
    results.facts["not run"] = "LeakPro attacks torch modules alone"
results.write(sys.argv[1])
