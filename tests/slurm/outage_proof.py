"""slurmrestd away for a real minute, longer than the silence after which nodes count as away: `make soak` runs it."""

from support.outage import live_through


def test_slurmrestd_away_for_a_minute(hpc):
    live_through(hpc, seconds=60)
