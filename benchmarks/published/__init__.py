"""What the five documents print, and columns of it beside results of this package.

The CSV files hold facts: one row for each printed value, with the table, its row and its column,
the printed string and the same as a number (a blank: none given, or not readable). Nothing in them
is corrected. ``authors_files.csv`` is from no document: these points were published with the code
of an earlier paper of del Grosso and others (MIT license).

``python benchmarks/published`` adds the columns to all kept results again, and
``python benchmarks/compare_published.py`` writes the page that compares them.
"""

from ._columns import COLUMNS, annotate
from ._facts import read_authors_files, read_printed

__all__ = ["COLUMNS", "annotate", "read_authors_files", "read_printed"]
