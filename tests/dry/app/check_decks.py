#!/usr/bin/env python3
"""`galvatron check` of every deck for several world sizes, on published figures, so that no deck rots.

Usage: check_decks.py PROGRAM SOURCE_FOLDER. Every deck must have a plan for every world. A deck that describes a machine of
its own is checked on that machine, with a plan by hand: searching thousands of ranks is the benchmark's. Published shapes get the memory
that the largest of them needs on a single rank, and a smaller space of plans: what is tested is that the deck is legal, not
that such a rank exists, nor how long a search takes.
"""
import concurrent.futures
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from program import tested  # noqa: E402

WORLDS = [1, 2, 4, 8, 16, 64]
PUBLISHED = ("inputs/gpt/", "inputs/llama/")
SMALL = ["cluster.memory=1 GiB"]
LARGE = ["cluster.memory=4 TiB", "search.axes=['tp', 'dp']", "search.schedule=['1f1b']", "search.zero=[0, 3]",
         "search.max_pp=8", "search.max_tp=8"]
BY_HAND = ["plan.pp=16", "plan.tp=8", "plan.zero=1", "plan.microbatches=16", "plan.recompute=true"]


def describes_machine(deck):
    with open(deck) as text:
        return "\n[cluster]\n" in text.read()


def check(call):
    program, deck, ranks = call
    command = [program, "check", deck]
    if ranks == 0:
        command += BY_HAND
    else:
        command += ["cluster.nodes=1", f"cluster.ranks_per_node={ranks}", "profile.file=inputs/clusters/nominal.toml"]
        command += LARGE if deck.startswith(PUBLISHED) else SMALL
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    good = done.returncode == 0 and "predicted_peak_bytes=" in done.stdout
    return good, f"{deck} on {ranks or 'its'} ranks: exit {done.returncode}", done.stdout + done.stderr


def main():
    program, source = tested(sys.argv[1]), sys.argv[2]
    os.chdir(source)
    decks = sorted(set(glob.glob("inputs/**/*.toml", recursive=True)) - set(glob.glob("inputs/clusters/*.toml")))
    problems = [] if decks else ["no deck found"]
    calls = [(program, deck, ranks) for deck in decks for ranks in ([0] if describes_machine(deck) else WORLDS)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for good, summary, said in pool.map(check, calls):
            print(summary)
            if not good:
                problems.append(f"{summary}\n{said}")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
