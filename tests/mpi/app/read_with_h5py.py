"""Reads a run's profile.h5 and a checkpoint as docs/files.md describes them, with h5py alone; prints what is wrong."""
import sys

import h5py
import numpy


def curves(group, name, wrong):
    """The curves of a group: median seconds over x, cut at `first`."""
    first, x, seconds = group["first"][:], group["x"][:], group["seconds"][:]
    if first[0] != 0 or first[-1] != len(x) or len(x) != len(seconds) or (numpy.diff(first) < 0).any():
        wrong.append(f"{name}: first, x and seconds do not fit")
    # Where ranks share a core, a step takes its median and what the sharing adds: that may pass its p99.
    above = name != "model/steps" and not (seconds <= group["p99"][:]).all()
    if not (seconds > 0).all() or not (group["minimum"][:] <= seconds).all() or above:
        wrong.append(f"{name}: minimum ≤ median ≤ p99 does not hold")
    return [(x[a:b], seconds[a:b]) for a, b in zip(first[:-1], first[1:])]


def profile(path, wrong):
    with h5py.File(path) as file:
        hardware = file["hardware"]
        ranks = hardware.attrs["ranks"]
        pairs = ranks * (ranks - 1)
        if len(hardware["links/from"]) < pairs:
            wrong.append(f"{len(hardware['links/from'])} links of {ranks} ranks")
        for name in ("links/isolated", "links/loaded", "collectives", "transfer"):
            curves(hardware[name], name, wrong)
        steps = file["model/steps"]
        if len(curves(steps, "model/steps", wrong)) != len(steps["signature"]):
            wrong.append("a curve for each signature")
        for part, group in file["raw"].items():
            if group["first"][-1] != len(group["seconds"]) or len(group["of"]) + 1 != len(group["first"]):
                wrong.append(f"raw/{part}: series and samples do not fit")
        columns = []
        file.visititems(lambda name, item: columns.append(item) if isinstance(item, h5py.Dataset) else None)
        wrong += [f"{c.name} has no unit or meaning" for c in columns if "unit" not in c.attrs or "meaning" not in c.attrs]


def checkpoint(path, wrong):
    with h5py.File(path) as file:
        if file["state"].attrs["step"] <= 0:
            wrong.append("a checkpoint of no step")
        for name, tensor in file["model"].items():
            moments = file["optimizer"][name]
            for values in (tensor, moments["exp_avg"], moments["exp_avg_sq"]):
                if values.shape != tensor.shape or not numpy.isfinite(values[()]).all():
                    wrong.append(f"{values.name}: {values.shape} or a value that is not finite")


def main():
    wrong = []
    profile(sys.argv[1], wrong)
    checkpoint(sys.argv[2], wrong)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
