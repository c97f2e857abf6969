"""Which program a test plays: the one that was built, or another one, an installed one for example."""
import os


def tested(built):
    """GALVATRON_TEST_PROGRAM where that is set."""
    return os.environ.get("GALVATRON_TEST_PROGRAM", built)
