"""What the thresholds of trees say of who was in the training data."""

from .events import Events as Events
from .read import has_split_thresholds as has_split_thresholds
from .read import read_split_thresholds as read_split_thresholds
from .replay import replay_samples as replay_samples
