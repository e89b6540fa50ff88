"""The only module that uses private parts of SDV."""


def seed_synthesizer(synthesizer, seed):
    """Let a fitted synthesizer draw from a seed; SDV itself always starts from the same one."""
    synthesizer._set_random_state(seed)
