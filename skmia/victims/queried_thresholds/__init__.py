"""Thresholds of a model that is only queried."""

from .bisect import FoundThresholds as FoundThresholds
from .bisect import bisect_thresholds as bisect_thresholds
from .columns import MOST_PASSED as MOST_PASSED
from .columns import Column as Column
from .columns import get_slack as get_slack
from .tables import Table as Table
