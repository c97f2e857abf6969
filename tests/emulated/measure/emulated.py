#!/usr/bin/env python3
"""Measures links between emulated nodes of which something is known.

Usage: emulated.py CASE TEST_PROGRAM PROGRAM. Ends with 77 where nodes cannot be emulated, saying why, with 1 when something is
wrong, else with 0.
"""
import os
import re
import sys
import tempfile
import time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from emulated_cluster import EmulatedCluster, Unavailable, skip  # noqa: E402
from program import tested  # noqa: E402

FAST, SLOW = 80, 8  # Mbit/s: slow enough that a busy machine does not show
PATIENCE = 90       # seconds until a run is given up
TRIES = 3           # at what a busy machine may spoil


def run_test(cluster, program, name, **facts):
    environment = {f"GALVATRON_{key.upper()}": str(value) for key, value in facts.items()}
    code, text = cluster.mpirun([program, f"--gtest_filter=EmulatedLinks.{name}"], PATIENCE, environment)
    if code != 0 or "1 test" not in text:
        return [f"exit code {code}\n{text}"]
    return []


def tiers(test, _):
    with EmulatedCluster([2, 2], FAST) as cluster:
        return run_test(cluster, test, "TellTheTiersApart", mbit=FAST)


def slow_node(test, _):
    with EmulatedCluster([1, 1, 1], FAST) as cluster:
        cluster.slow_node(1, SLOW)
        return run_test(cluster, test, "FindTheSlowNode", slow_node=1)


def late_node(test, _):
    with EmulatedCluster([1, 1, 1], FAST) as cluster:
        cluster.delay_node(2, 40)
        return run_test(cluster, test, "FindTheSlowNode", slow_node=2)


def slow_link(test, _):
    with EmulatedCluster([1, 1, 1], FAST) as cluster:
        cluster.slow_link(0, 2, SLOW)
        return run_test(cluster, test, "FindTheSlowLink", slow_from=0, slow_to=2)


def damage(test, _):
    with EmulatedCluster([1, 2], FAST) as cluster:
        return run_test(cluster, test, "NameTheDamagedLink")


def profile(_, program):
    """Eight ranks on two nodes keep to the budget, and the file knows both tiers."""
    for _ in range(TRIES):
        problems = profile_once(program)
        if not problems:
            break
    return problems


def profile_once(program):
    budget, slack = 10.0, 5.0
    deck = os.path.join(SOURCE, "inputs", "tiny", "gpt.toml")
    with EmulatedCluster([4, 4], 500) as cluster, tempfile.TemporaryDirectory(prefix="galvatron-emulated-") as folder:
        begin = time.monotonic()
        code, text = cluster.mpirun([program, "profile", deck, "--out", folder, f"profile.budget={budget}"], PATIENCE)
        seconds = time.monotonic() - begin
        problems = [] if code == 0 else [f"profile: exit code {code}"]
        # What a phase has begun it ends, and other work on the machine stretches that.
        slack *= max(1.0, os.getloadavg()[0] / os.cpu_count())
        if seconds > budget + slack:
            problems.append(f"took {seconds:.1f} s with a budget of {budget} s, more than {slack:.1f} s too long")
        for words in ("node0", "node1"):
            if words not in text:
                problems.append(f"'{words}' is not in the report")
        rows = dict(re.findall(r"^ +(same node|across nodes) +(\d+)", text, re.MULTILINE))
        if set(rows) != {"same node", "across nodes"}:
            problems.append(f"links per tier: {rows}")
        return problems and problems + [text]


CASES = {"tiers": tiers, "slow_node": slow_node, "late_node": late_node, "slow_link": slow_link, "damage": damage,
         "profile": profile}


def main():
    case, test, program = sys.argv[1:]
    os.chdir(SOURCE)
    try:
        problems = CASES[case](test, tested(program))
    except Unavailable as reason:
        skip(reason)
    for problem in problems:
        print(f"{case}: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
