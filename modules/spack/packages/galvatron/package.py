# Builds galvatron from the clone that this overlay is part of.
import os

from spack.package import *

CLONE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))


class Galvatron(CMakePackage):
    """Automatic hybrid-parallel training of transformers: profiles, searches a plan, trains."""

    homepage = "file://" + CLONE
    git = "file://" + CLONE

    license("Apache-2.0")

    version("main", branch="main")

    variant("cuda", default=False, description="Build the CUDA backend, with NCCL")
    variant("papi", default=True, description="Read hardware counters")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hdf5+mpi")
    depends_on("onednn cpu_runtime=omp")
    depends_on("tomlplusplus")
    depends_on("fmt@9:")
    depends_on("cli11@2:")
    depends_on("nlohmann-json@3:")
    depends_on("random123")
    depends_on("xxhash@0.8:")
    depends_on("hwloc@2:")
    depends_on("papi", when="+papi")
    depends_on("cuda@12:", when="+cuda")
    depends_on("cudnn@9:", when="+cuda")
    depends_on("nccl", when="+cuda")

    def cmake_args(self):
        return [
            self.define("GALVATRON_WITH_TESTS", False),
            self.define("GALVATRON_MARCH", ""),
            self.define_from_variant("GALVATRON_WITH_CUDA", "cuda"),
            self.define_from_variant("GALVATRON_WITH_NCCL", "cuda"),
            self.define_from_variant("GALVATRON_WITH_PAPI", "papi"),
        ]
