"""A few nodes on one machine: namespaces with host names, addresses and rate-limited links of their own.

Each node is a process that waits for the end of its input; it holds the namespaces (host name, network, mounts,
processes), which have no other name. So nothing is left when it ends, and it ends with this program however that ends:
the kernel kills what runs in the node and takes its links away. Any number of clusters may live side by side.

    with EmulatedCluster([2, 2], rate_mbit=500) as cluster:      # two nodes, two ranks each
        cluster.slow_node(1, 50)
        code, text = cluster.mpirun(["program", "argument"], timeout=60)
"""
import os
import shutil
import subprocess
import sys
import tempfile

TOOLS = ("ip", "tc", "unshare", "nsenter", "mount", "hostname", "timeout")
# A small bucket: messages up to its size travel at any rate.
BURST = "16kb"
# Programs of the system are not on everybody's path.
os.environ["PATH"] += os.pathsep + "/usr/sbin" + os.pathsep + "/sbin"


class Unavailable(Exception):
    """Why nodes cannot be emulated here."""


def shell(command):
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"'{command}': {(done.stderr or done.stdout).strip() or 'exit code ' + str(done.returncode)}")
    return done.stdout


class Node:
    """Namespaces, and the process that holds them. The first one of a cluster, its switch, also holds the process numbers
    of all: when it ends, the kernel ends every process of every node."""

    def __init__(self, host, switch=None, hosts_file=None):
        self.host = host
        # Shared memory of a node with the same name elsewhere must not be met: /dev/shm is the node's own.
        script = f"hostname {host} && ip link set lo up && mount -t tmpfs tmpfs /dev/shm && "
        if hosts_file:
            script += f"mount --bind {hosts_file} /etc/hosts && "
        script += "echo $$ && exec cat"
        own = ["unshare", "--uts", "--net", "--mount", "--propagation", "private"]
        if switch is None:
            own += ["--pid", "--fork", "--kill-child", "--mount-proc"]
        else:
            own = ["nsenter", "--target", str(switch.pid), "--pid", "--mount"] + own
        self.anchor = subprocess.Popen(own + ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
        self.inner_pid = self.anchor.stdout.readline().strip()  # as the processes of the cluster see it
        if not self.inner_pid:
            reason = self.anchor.communicate()[1].strip()
            raise Unavailable(f"namespaces: {reason or 'refused'}")
        with open(f"/proc/{self.anchor.pid}/task/{self.anchor.pid}/children", encoding="ascii") as children:
            self.pid = int(children.read().split()[0])

    def network(self):
        return f"nsenter --target {self.pid} --net"

    def end(self):
        self.anchor.stdin.close()
        self.anchor.kill()
        self.anchor.wait()
        self.anchor.stdout.close()
        self.anchor.stderr.close()


class EmulatedCluster:
    PREFIX = "galvatron-nodes-"  # of the folder's name

    def __init__(self, ranks_of_nodes, rate_mbit, disk_mib=0):
        """A bridge with one cable per node, each of `rate_mbit` Mbit/s in both directions; a small disk that all nodes
        share, where `disk_mib` says so."""
        self.ranks, self.rate, self.nodes, self.switch = ranks_of_nodes, rate_mbit, [], None
        self.disk_mib = disk_mib
        self.folder = None

    def __enter__(self):
        try:
            self.check()
            self.folder = tempfile.mkdtemp(prefix=self.PREFIX)
            self.build()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    @staticmethod
    def check():
        if os.geteuid() != 0:
            raise Unavailable("namespaces need root")
        missing = [tool for tool in TOOLS if shutil.which(tool) is None]
        if missing:
            raise Unavailable("not installed: " + ", ".join(missing))

    def build(self):
        count = range(len(self.ranks))
        with open(f"{self.folder}/hosts", "w", encoding="ascii") as hosts:
            hosts.write("127.0.0.1 localhost\n" + "".join(f"{self.address(i)} {self.host(i)}\n" for i in count))
        with open(f"{self.folder}/hostfile", "w", encoding="ascii") as hostfile:
            hostfile.write("".join(f"{self.host(i)} slots={self.ranks[i]}\n" for i in count))
        self.switch = Node("switch")
        shell(f"{self.switch.network()} sh -c 'ip link add bridge type bridge && ip link set bridge up'")
        if self.disk_mib:
            os.mkdir(self.disk())
            shell(f"nsenter --target {self.switch.pid} --mount mount -t tmpfs -o size={self.disk_mib}m tmpfs {self.disk()}")
        for i in count:
            node = Node(self.host(i), self.switch, f"{self.folder}/hosts")
            self.nodes.append(node)
            shell(f"{self.switch.network()} sh -c 'ip link add port{i} type veth peer name eth0 netns {node.pid} && "
                  f"ip link set port{i} master bridge up'")
            shell(f"{node.network()} sh -c 'ip addr add {self.address(i)}/24 dev eth0 && ip link set eth0 up'")
            self.slow_node(i, self.rate)
        self.write_agent()

    def write_agent(self):
        """What mpirun starts its daemons with instead of ssh: AGENT HOST COMMAND."""
        cases = "\n".join(f"  {node.host}) pid={node.inner_pid} ;;" for node in self.nodes)
        with open(f"{self.folder}/agent", "w", encoding="ascii") as agent:
            agent.write('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nhost=$1\nshift\ncase $host in\n' + cases +
                        '\n  *) echo "no node $host" >&2; exit 1 ;;\nesac\n'
                        "exec nsenter --target $pid --uts --net --mount --wd=/ -- "
                        'env TMPDIR=/dev/shm sh -c "$*"\n')
        os.chmod(f"{self.folder}/agent", 0o755)

    @staticmethod
    def host(i):
        return f"node{i}"

    @staticmethod
    def address(i):
        return f"198.18.0.{i + 1}"  # of the block for benchmarks (RFC 2544); it exists only in the namespaces

    def disk(self):
        """The shared disk, as the nodes see it."""
        return f"{self.folder}/disk"

    def outside(self, path):
        """A file of the nodes, as this program sees it."""
        return f"/proc/{self.switch.pid}/root{path}"

    def fill_disk(self):
        """Takes all room of the shared disk; gives the file that has it, for the one who makes room again."""
        filler = self.outside(self.disk() + "/filler")
        with open(filler, "wb", buffering=0) as file:
            for size in (65536, 4096, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass
        if os.statvfs(filler).f_bavail != 0:
            raise RuntimeError("the disk is not full")
        return filler

    def close_disk(self):
        """From now on the shared disk can only be read."""
        shell(f"nsenter --target {self.switch.pid} --mount mount -o remount,ro {self.disk()}")

    def cut(self, i):
        """The cable of a node is out: what is sent is lost, and nobody is told."""
        shell(f"{self.switch.network()} ip link set port{i} nomaster")

    def heal(self, i):
        shell(f"{self.switch.network()} ip link set port{i} master bridge")

    def slow_node(self, i, rate_mbit):
        """The cable of a node: both directions."""
        limit = f"root tbf rate {rate_mbit}mbit burst {BURST} latency 50ms"
        shell(f"{self.nodes[i].network()} tc qdisc replace dev eth0 {limit}")
        shell(f"{self.switch.network()} tc qdisc replace dev port{i} {limit}")

    def delay_node(self, i, milliseconds):
        """What a node sends arrives later. Needs a kernel with netem."""
        shell(f"{self.nodes[i].network()} tc qdisc replace dev eth0 root netem delay {milliseconds}ms "
              f"rate {self.rate}mbit")

    def slow_link(self, source, target, rate_mbit):
        """What one node sends to one other node."""
        tc = f"{self.nodes[source].network()} tc"
        shell(f"{tc} qdisc replace dev eth0 root handle 1: htb default 10")
        for name, rate in ((10, self.rate), (20, rate_mbit)):
            shell(f"{tc} class add dev eth0 parent 1: classid 1:{name} htb rate {rate}mbit ceil {rate}mbit "
                  f"burst {BURST} cburst {BURST}")
        shell(f"{tc} filter add dev eth0 parent 1: protocol ip u32 match ip dst {self.address(target)}/32 flowid 1:20")

    def start(self, command, timeout, environment=None, settings=None):
        """Starts a program on all ranks, from the first node; `settings` are more of Open MPI's own."""
        words = ["nsenter", "--target", str(self.nodes[0].pid), "--uts", "--net", "--pid", "--mount", f"--wd={os.getcwd()}",
                 "--", "env", "TMPDIR=/dev/shm", "timeout", "-k", "5", str(timeout), "mpirun",
                 "--hostfile", f"{self.folder}/hostfile", "--bind-to", "none", "-np", str(sum(self.ranks))]
        every = {"plm": "rsh", "plm_rsh_agent": f"{self.folder}/agent", "plm_rsh_no_tree_spawn": "1",
                 "btl": "self,vader,tcp", "mpi_yield_when_idle": "1", **(settings or {})}
        for key, value in every.items():
            words += ["--mca", key, value]
        for name in environment or {}:
            words += ["-x", name]
        everything = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                          OMP_NUM_THREADS="1", **(environment or {}))
        return subprocess.Popen(words + ["-x", "OMP_NUM_THREADS"] + command, env=everything, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="backslashreplace")

    def mpirun(self, command, timeout, environment=None):
        """Runs a program on all ranks to its end; its exit code and all that it printed."""
        job = self.start(command, timeout, environment)
        text = job.communicate()[0]
        return job.returncode, text

    def end(self):
        for node in self.nodes + ([self.switch] if self.switch else []):
            node.end()
        self.nodes, self.switch = [], None
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def skip(reason):
    """Ends a test that cannot run here; CTest counts code 77 as skipped."""
    print(f"skipped: nodes cannot be emulated: {reason}")
    sys.exit(77)
