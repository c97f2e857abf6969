#!/usr/bin/env python3
"""`galvatron check` of every deck for several world sizes, on published figures, so that no deck rots.

Usage: check_decks.py PROGRAM SOURCE_FOLDER. Every deck must have a plan for every world.
"""
import glob
import os
import subprocess
import sys

WORLDS = [1, 2, 4, 8, 16, 64]


def main():
    program, source = sys.argv[1:]
    os.chdir(source)
    decks = sorted(set(glob.glob("inputs/**/*.toml", recursive=True)) - set(glob.glob("inputs/clusters/*.toml")))
    problems = [] if decks else ["no deck found"]
    for deck in decks:
        for ranks in WORLDS:
            call = [program, "check", deck, "cluster.nodes=1", f"cluster.ranks_per_node={ranks}", "cluster.memory=1 GiB",
                    "profile.file=inputs/clusters/nominal.toml"]
            done = subprocess.run(call, capture_output=True, text=True, timeout=60)
            good = done.returncode == 0 and "predicted_peak_bytes=" in done.stdout
            print(f"{deck} on {ranks} ranks: exit {done.returncode}")
            if not good:
                problems.append(f"{deck} on {ranks} ranks: exit {done.returncode}\n{done.stdout}{done.stderr}")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
