"""Linear equations that a file of trees states about the membership of its training rows."""
