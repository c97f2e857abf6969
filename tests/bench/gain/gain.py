#!/usr/bin/env python3
"""What the search gains: the plan that it chooses against the best plan of each family that people use by hand.

    gain.py BUILD_FOLDER [--cases one-loose one-tight two-loose two-tight] [--rounds 3] [--rate 200]

one: four ranks on this machine. two: two emulated nodes of two ranks with a link of `rate` Mbit/s between them (Linux
namespaces, root). loose: all memory; tight: `cluster.memory` just below the plan by hand whose absence costs most. Of each
family (pure dp, zero3, tp, pp, 3-D) several variants are played; those whose predicted memory is beyond the limit do not
count. All plans take turns, and ratios are taken inside a round. Each case ends with a line "RESULT bench=gain case=…": `gain` is the time of the
best plan by hand over that of the chosen one.
"""
import argparse
import contextlib
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from emulated_cluster import EmulatedCluster, Unavailable  # noqa: E402
from played import Failed, Program, on_this_host, spread  # noqa: E402

RANKS, STEPS = 4, 5
MODEL = ["model.layers=4", "model.hidden=256", "model.heads=8", "model.ffn=1024", "model.vocab=4096", "model.seq=128",
         "search.batch=[8]", f"train.steps={STEPS}"]


def families():
    """Name → variants of [plan] by hand."""
    def plan(micros, **keys):
        return [f"plan.{key}={value}" for key, value in keys.items()] + [f"plan.microbatches={micros}"]
    both = ("false", "true")
    return {"dp": [plan(m, pp=1, recompute=r) for m in (1, 2) for r in both],
            "zero3": [plan(m, zero=3, recompute=r) for m in (1, 2) for r in both],
            "tp": [plan(m, tp=4, recompute=r) for m in (1, 4) for r in both],
            "pp": [plan(m, pp=4, recompute=r) for m in (4, 8) for r in both],
            "3-D": [plan(m, pp=2, tp=2, recompute=r) for m in (2, 4) for r in both]}


def priced(program, profile):
    """Name → settings, predicted bytes and seconds of every variant that is legal."""
    variants = {}
    for family, plans in families().items():
        for number, settings in enumerate(plans):
            settings = settings + [f"profile.file={profile}"]
            try:
                run = program.play("run", "run", settings + ["train.stop_after=1"])
                variants[f"{family} {number}"] = (settings, run["predicted_peak_bytes"], run["predicted_step_s"])
            except Failed as failure:
                print(f"  {family} {number}: {str(failure)[-200:]}")
    return variants


def tight_limit(variants):
    """Just below the plan by hand whose absence costs most: the one that the next leaner ones are slowest against."""
    by_need = sorted((need, seconds) for _, need, seconds in variants.values())
    steps = [(min(s for _, s in by_need[:i]) / by_need[i][1], by_need[i][0]) for i in range(1, len(by_need))
             if by_need[i][0] > 1.05 * by_need[0][0]]
    return int(max(steps)[1] * 0.985)


def best_of_families(variants):
    """The two variants of each family that are predicted to be fastest: the prediction does not decide alone."""
    chosen = {}
    for family in families():
        mine = sorted((item for item in variants.items() if item[0].rsplit(" ", 1)[0] == family), key=lambda item: item[1][2])
        chosen |= {name: variant[0] for name, variant in mine[:2]}
    return chosen


def play(options, case, launch, folder, program_path):
    program = Program(program_path, ROOT / "inputs/quickstart.toml", RANKS, folder, MODEL, launch)
    program.play("profile", "profile", [f"profile.budget={options.budget}"])
    profile = program.path("profile", "profile.h5")
    variants, limit = priced(program, profile), None
    if case.endswith("tight"):
        limit = tight_limit(variants)
        variants = {name: variant for name, variant in variants.items() if variant[1] <= limit}
    memory = [f"cluster.memory={limit}"] if limit else []
    program.play("run", "chosen", memory + [f"profile.file={profile}", "search.trials=4"])
    chosen = [f"plan.file={program.path('chosen', 'plan.toml')}", f"profile.file={profile}"]
    contenders = best_of_families(variants) | {"chosen": chosen}
    times = {name: [] for name in contenders}
    for _ in range(options.rounds):
        for name, settings in contenders.items():
            times[name].append(program.play("run", "run", settings)["step_s"])
    report(case, limit, times)


def report(case, limit, times):
    ratio = {name: statistics.median(a / b for a, b in zip(values, times["chosen"])) for name, values in times.items()}
    for name, value in ratio.items():
        print(f"  {name:10} {1e3 * statistics.median(times[name]):9.1f} ms, {value:.3f} times the chosen plan's")
    by_hand = {name: value for name, value in ratio.items() if name != "chosen"}
    best = min(by_hand, key=by_hand.get)
    families_left = {}
    for name, value in by_hand.items():
        family = name.rsplit(" ", 1)[0]
        families_left[family] = min(value, families_left.get(family, value))
    floor = spread([a / b for a, b in zip(times[best], times["chosen"])])
    words = " ".join(f"{family}={families_left.get(family, float('nan')):.3f}" for family in families())
    print(f"RESULT bench=gain case={case} limit_mib={limit / 2**20 if limit else 0:.1f} gain={by_hand[best]:.3f} "
          f"best={best.replace(' ', '_')} {words} floor={floor:.4f} load={os.getloadavg()[0]:.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--cases", nargs="+", default=["one-loose", "one-tight", "two-loose", "two-tight"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=200, help="Mbit/s between the two nodes")
    parser.add_argument("--budget", type=float, default=20, help="seconds of each profile")
    options = parser.parse_args()
    program = options.build.resolve() / "galvatron"
    for case in options.cases:
        print(f"{case}, load {os.getloadavg()[0]:.1f}", flush=True)
        with tempfile.TemporaryDirectory(prefix="galvatron-gain-") as folder, contextlib.ExitStack() as stack:
            launch = on_this_host
            if case.startswith("two"):
                try:
                    cluster = stack.enter_context(EmulatedCluster([2, 2], options.rate))
                except Unavailable as reason:
                    print(f"skipped: {case}: nodes cannot be emulated: {reason}")
                    continue
                launch = lambda command, _, timeout: cluster.mpirun(command, timeout)  # noqa: E731
            play(options, case, launch, folder, program)


if __name__ == "__main__":
    main()
