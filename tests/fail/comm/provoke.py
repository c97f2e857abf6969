#!/usr/bin/env python3
"""Provokes the rows of the error table with tests/fail/comm/provoke.cpp and looks at how the job ends.

Usage: provoke.py CASE PROGRAM MPIEXEC. Each case says how many ranks, which exit codes are right, which texts the messages must
hold, how many messages there are, and within how many seconds the job must be over.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# Seconds within which a job must be over, on a machine with other work too: a bound for what hangs, not for what is slow.
PATIENCE = 90
# case: (ranks, exit codes, texts that must appear, number of messages)
CASES = {
    "fine": (3, {0}, [], 0),
    "agreed": (3, {5}, ["rank 1 on ", "load the data: token file is missing"], 1),
    "agreed_all": (3, {2}, ["rank 0 on ", "read the deck: bad deck", "(and 2 more)"], 1),
    "lonely": (3, {8}, ["rank 1 on ", "the disk is full"], 1),
    "two_lonely": (3, {8}, ["the disk is full", "also rank "], 2),
    "lonely_with_messages": (2, {7}, ["rank 1 on ", "loss is not finite"], 1),
    "hang": (3, {9}, ["no progress for 3.00 s", ": compute for ever", "rank 0 on ", ": forward 1"], 1),
    "stopped": (3, {9}, ["no progress for 3.00 s", "no line from rank 1", ": forward 1"], 1),
    "stuck_beside": (3, {9}, ["no progress for 3.00 s", "forward 2; beside it: checkpoint of step 5: sync",
                              "beside it: checkpoint of step 5: seal"], 1),
    "rests_beside": (3, {0}, [], 0),
    "killed": (3, {137}, [], 0),
    "crash": (3, {139}, [], 0),
    "lost_launcher": (0, {3}, ["MPI sees 1 rank", "SLURM_NTASKS=4"], 1),
}


def command(case, ranks, program, mpiexec, folder):
    call = [program, case, folder]
    return call if ranks == 0 else [mpiexec, "--bind-to", "none", "-n", str(ranks)] + call


def environment(case):
    values = dict(os.environ)
    if case == "lost_launcher":
        for name in [n for n in values if n.startswith(("OMPI_COMM", "PMI_", "PMIX_", "SLURM_"))]:
            del values[name]
        values["SLURM_NTASKS"] = "4"
    return values


def run(call, values, seconds):
    """Exit code (None when it had to be killed), output, seconds."""
    start = time.monotonic()
    job = subprocess.Popen(call, env=values, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           start_new_session=True)
    try:
        output, _ = job.communicate(timeout=seconds)
        return job.returncode, output, time.monotonic() - start
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, 9)
        output, _ = job.communicate()
        return None, output, time.monotonic() - start


def launcher_crashed(code, output):
    """Whether mpiexec of Open MPI 4.1 died of its own end, after the job's: seen when it had killed a stopped rank."""
    return code == -11 and "PMIx_server_finalize" in output and "MPI_ABORT was invoked" in output


def problems(case, code, output):
    _, codes, texts, messages = CASES[case]
    if launcher_crashed(code, output):
        code = int(re.search(r"with errorcode (\d+)", output).group(1))
    found = []
    if code is None:
        found.append(f"still running after {PATIENCE} s")
    elif (code + 256) % 256 not in codes:
        found.append(f"exit code {code}, expected one of {sorted(codes)}")
    count = output.count("MESSAGE ")
    if count != messages:
        found.append(f"{count} messages, expected {messages}")
    found += [f"no text '{text}'" for text in texts if text not in output]
    return found


def main():
    case, program, mpiexec = sys.argv[1:]
    ranks, _, _, _ = CASES[case]
    folder = tempfile.mkdtemp(prefix="galvatron-fail-")
    try:
        code, output, took = run(command(case, ranks, program, mpiexec, folder), environment(case), PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = problems(case, code, output)
    print(f"{case}: exit code {code} after {took:.1f} s")
    if found:
        print("\n".join(found), "\noutput was:\n" + output)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
