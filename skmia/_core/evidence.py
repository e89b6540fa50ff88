"""The words for what an audit concludes."""

LEAK, NONE, SHIFT, REVERSED, UNKNOWN = "leak", "none", "shift", "reversed", "unknown"
