"""Journeys through a search: shared by ranks, stopped, taken up again."""
import os
import signal
import socket
import time

# A machine that is not this one, so that any number of ranks can search for it.
ELSEWHERE = ["profile.file=inputs/clusters/nominal.toml", "run.threads=1", "search.trials=0"]


def search_ranks(j):
    """Any number of ranks writes the same plan.toml, byte for byte, with nothing in it of who wrote it when."""
    asked = ELSEWHERE + ["cluster.nodes=2", "cluster.ranks_per_node=4", "cluster.memory=129 MiB", "search.batch=[8]"]
    plans = {}
    for ranks in (1, 2, 3, 4, 8):
        name = f"run{ranks}"
        j.run(ranks, ["--out", j.out(name)] + asked, verb="search", texts=["plans are for the deck's", "loses"])
        with open(j.file(name, "plan.toml"), "rb") as file:
            plans[ranks] = file.read()
        if os.path.exists(j.file(name, "search.kept")):
            j.problems.append(f"{ranks} ranks: search.kept is still there")
    for ranks, plan in plans.items():
        if plan != plans[1]:
            j.problems.append(f"{ranks} ranks write\n{plan.decode()}\none rank writes\n{plans[1].decode()}")
    j.need(plans[1].decode(), ["world = 8\n"])
    for word in (socket.gethostname(), time.strftime("%Y-"), j.folder):
        if word in plans[1].decode():
            j.problems.append(f"'{word}' stands in plan.toml:\n{plans[1].decode()}")


def search_stops(j):
    """A search that is stopped by a signal, by STOP or by the time limit goes on where it was, to the same plan."""
    asked = ELSEWHERE + ["cluster.nodes=8", "cluster.ranks_per_node=8", "cluster.memory=140 MiB", "model.layers=48",
                         "search.batch=[64, 96, 128, 192]"]
    run = ["--out", j.out("run")] + asked
    kept = j.file("run", "search.kept")

    def stopped(act):
        """Starts, waits until answers are written once more, acts, and returns how it ended."""
        known = os.stat(kept).st_mtime_ns if os.path.exists(kept) else 0
        job = j.start(2, "search", run)
        if j.await_that(job, lambda: os.path.exists(kept) and os.stat(kept).st_mtime_ns > known, "answers in search.kept"):
            act(job)
        return j.finish(job)

    rc, text = stopped(lambda job: os.kill(j.ranks_of(job)[1], signal.SIGTERM))
    j.ended(rc, 75, text, ["search: stopped; what it knows is in", "stopped in the search"], "SIGTERM in the search")
    j.require_files("run", ["search.kept"])
    rc, text = stopped(lambda job: open(j.file("run", "STOP"), "w").close())
    j.ended(rc, 0, text, ["goes on with \\d+ rounds", "search: stopped", "stopped=user"], "STOP in the search")
    j.run(2, run, verb="search", texts=["goes on with \\d+ rounds"])
    if os.path.exists(kept):
        j.problems.append("search.kept is still there beside the plan")
    j.run(2, ["--out", j.out("whole")] + asked, verb="search")
    with open(j.file("run", "plan.toml"), "rb") as a, open(j.file("whole", "plan.toml"), "rb") as b:
        if a.read() != b.read():
            j.problems.append("the stopped search and a whole one write different plans")
    j.run(2, ["--out", j.out("late"), "train.walltime=0.2 s"] + asked, verb="search", code=75, texts=["stopped in the search"])
