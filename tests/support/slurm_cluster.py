"""A real Slurm on emulated nodes: munged, slurmctld and one slurmd per node, with every file in a temporary folder.

    with SlurmCluster(2) as slurm:                        # two nodes with two processors each
        job = slurm.sbatch(["jobscripts/slurm/run.sbatch", "deck.toml"], options=["-N2"])
        ended = slurm.wait(job)                           # ended.state, ended.code, ended.text

The nodes are those of emulated_cluster.py: what Slurm starts lives in their process namespace and ends with them.
"""
import os
import re
import shutil
import stat
import subprocess
import time
from dataclasses import dataclass

from emulated_cluster import EmulatedCluster, Unavailable

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel", "sinfo")
CPUS = 2         # of a node, whatever this machine has
KILL_WAIT = 60   # seconds between SIGTERM and SIGKILL, so that a busy machine has time to save

CONFIGURATION = """
ClusterName=test
SlurmctldHost={first}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CryptoType=crypto/munge
StateSaveLocation={folder}/state
TmpFS={folder}/tmp-%n
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=5
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
KillWait={kill_wait}
SlurmdTimeout=30
SlurmctldTimeout=15
MinJobAge=300
ReturnToService=2
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
NodeName=node[0-{last}] CPUs={cpus} CoresPerSocket={cpus} Sockets=1 ThreadsPerCore=1 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=1:00:00 State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=1:00:00 State=UP PriorityTier=10 PreemptMode=OFF
"""


@dataclass
class Ended:
    """What became of a job: Slurm's word for it, the exit code of its script, all that it printed."""
    state: str
    code: int
    text: str


class SlurmCluster(EmulatedCluster):
    # The first job has this number: a script that looks for it in the name of its log must not find it in the folder's.
    PREFIX = "galvatron-nodes-1-"

    def __init__(self, nodes, disk_mib=0):
        super().__init__([CPUS] * nodes, rate_mbit=1000, disk_mib=disk_mib)

    def check(self):
        super().check()
        missing = [tool for tool in DAEMONS if shutil.which(tool) is None]
        if missing:
            raise Unavailable("not installed: " + ", ".join(missing))

    def build(self):
        super().build()
        os.chmod(self.folder, 0o755)  # munged refuses a socket that others cannot reach
        key = os.path.join(self.folder, "munge.key")
        with open(key, "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(key, stat.S_IRUSR)
        with open(self.configuration(), "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(first=self.host(0), folder=self.folder, last=len(self.nodes) - 1,
                                            cpus=CPUS, kill_wait=KILL_WAIT))
        for name in ["state"] + [f"{what}-{self.host(i)}" for i in range(len(self.nodes)) for what in ("spool", "tmp")]:
            os.mkdir(os.path.join(self.folder, name))
        names = {name: f"{self.folder}/munge.{name}" for name in ("socket", "pid-file", "seed-file", "log-file")}
        names["socket"] = f"{self.folder}/munge.sock"
        self.daemon(0, ["munged", "--force", f"--key-file={key}"] + [f"--{k}={v}" for k, v in names.items()])
        self.daemon(0, ["slurmctld", "-f", self.configuration()])
        for i in range(len(self.nodes)):
            self.start_node(i)
        self.until(lambda: self.command(["sinfo", "-h", "-t", "idle", "-o", "%D"]).strip() == str(len(self.nodes)),
                   120, "the nodes are not idle")

    def configuration(self):
        return os.path.join(self.folder, "slurm.conf")

    def environment(self, more=None):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "OMPI_", "PMIX"))}
        return dict(kept, SLURM_CONF=self.configuration(), OMPI_MCA_mpi_yield_when_idle="1",
                    OMPI_MCA_btl="self,vader,tcp", OMP_NUM_THREADS="1", **(more or {}))

    def inside(self, i, words):
        return ["nsenter", "--target", str(self.nodes[i].pid), "--uts", "--net", "--pid", "--mount",
                f"--wd={os.getcwd()}", "--"] + words

    def daemon(self, i, words):
        done = subprocess.run(self.inside(i, words), env=self.environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"{words[0]}: exit code {done.returncode}: {done.stderr.strip()}")

    def start_node(self, i):
        """Starts the node's slurmd; after kill_node that is a node which was booted again."""
        for name in ("tmp", "spool"):
            folder = os.path.join(self.folder, f"{name}-{self.host(i)}")
            for stale in os.listdir(folder):
                if "pmix" in stale:  # sockets of dead steps: a job with the same id could not start
                    path = os.path.join(folder, stale)
                    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        self.daemon(i, ["slurmd", "-N", self.host(i), "-f", self.configuration()])

    def kill_node(self, i):
        """Everything that runs on the node is gone at once."""
        for pid in self.processes_of(i):
            subprocess.run(self.inside(0, ["kill", "-9", str(pid)]), stderr=subprocess.DEVNULL, check=False)

    def processes_of(self, i):
        """Process numbers, as the nodes see them, of what runs in the node's network; not the node's anchor."""
        network = os.readlink(f"/proc/{self.nodes[i].pid}/ns/net")
        listed = subprocess.run(self.inside(0, ["sh", "-c", "readlink -n /proc/[0-9]*/ns/net >/dev/null; for p in "
                                                "/proc/[0-9]*; do echo $(readlink $p/ns/net) ${p#/proc/}; done"]),
                                capture_output=True, text=True, check=False).stdout
        found = [line.split()[1] for line in listed.splitlines() if line.startswith(network + " ")]
        return [int(pid) for pid in found if pid != self.nodes[i].inner_pid]

    def command(self, words, more=None, check=True):
        """A Slurm command on the first node; what it printed."""
        done = subprocess.run(self.inside(0, words), env=self.environment(more), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def sbatch(self, words, options=(), more=None):
        """Submits a script with its words; its output goes to job_text()."""
        output = os.path.join(self.folder, "job-%A-%a.log" if any("array" in o for o in options) else "job-%j.log")
        text = self.command(["sbatch", "--parsable", f"--output={output}", *options, *words], more)
        return int(text.strip().split(";")[0])

    def job_text(self, job):
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if re.fullmatch(rf"job-{job}(-\d+)?\.log", name):
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="backslashreplace") as file:
                    texts.append(file.read())
        return "".join(texts)

    def steps_of(self, job):
        """Process numbers of the daemons that look after the steps of a job."""
        return self.command(["pgrep", "-f", rf"slurmstepd: \[{job}\."], check=False).split()

    def facts(self, job):
        """What scontrol says of a job, as a table; of an array, of its last task."""
        text = self.command(["scontrol", "--oneliner", "show", "job", str(job)], check=False)
        lines = text.strip().splitlines()
        return dict(re.findall(r"(\w+)=(\S*)", lines[-1])) if lines else {}

    def states(self, job):
        text = self.command(["scontrol", "--oneliner", "show", "job", str(job)], check=False)
        return re.findall(r"JobState=(\w+)", text)

    def wait(self, job, seconds=180):
        """Waits until a job, with all tasks of an array, has ended for good."""
        over = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY"}
        self.until(lambda: (states := self.states(job)) and set(states) <= over, seconds,
                   lambda: f"job {job} is {self.states(job)}\n{self.job_text(job)}")
        facts = self.facts(job)
        return Ended(facts["JobState"], int(facts["ExitCode"].split(":")[0]), self.job_text(job))

    @staticmethod
    def until(holds, seconds, what):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise RuntimeError(f"not within {seconds} s: {what() if callable(what) else what}")
            time.sleep(0.1)
