"""The error that the command line shows as one line."""


class CommandError(Exception):
    """Input that the command cannot work with; the message says what was got and what is needed."""
