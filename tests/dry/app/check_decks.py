#!/usr/bin/env python3
"""`galvatron check` of every deck for several world sizes, on published figures, so that no deck rots.

Usage: check_decks.py PROGRAM SOURCE_FOLDER. Every deck must have a plan for every world. Published shapes get the memory
that the largest of them needs on a single rank, and a smaller space of plans: what is tested is that the deck is legal, not
that such a rank exists, nor how long a search takes.
"""
import concurrent.futures
import glob
import os
import subprocess
import sys

WORLDS = [1, 2, 4, 8, 16, 64]
PUBLISHED = ("inputs/gpt/", "inputs/llama/")
SMALL = ["cluster.memory=1 GiB"]
LARGE = ["cluster.memory=4 TiB", "search.axes=['tp', 'dp']", "search.schedule=['1f1b']", "search.zero=[0, 3]",
         "search.max_pp=8", "search.max_tp=8"]


def check(call):
    program, deck, ranks = call
    command = [program, "check", deck, "cluster.nodes=1", f"cluster.ranks_per_node={ranks}",
               "profile.file=inputs/clusters/nominal.toml"] + (LARGE if deck.startswith(PUBLISHED) else SMALL)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    good = done.returncode == 0 and "predicted_peak_bytes=" in done.stdout
    return good, f"{deck} on {ranks} ranks: exit {done.returncode}", done.stdout + done.stderr


def main():
    program, source = sys.argv[1:]
    os.chdir(source)
    decks = sorted(set(glob.glob("inputs/**/*.toml", recursive=True)) - set(glob.glob("inputs/clusters/*.toml")))
    problems = [] if decks else ["no deck found"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for good, summary, said in pool.map(check, [(program, deck, ranks) for deck in decks for ranks in WORLDS]):
            print(summary)
            if not good:
                problems.append(f"{summary}\n{said}")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
