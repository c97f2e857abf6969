# Builds galvatron from the clone that this overlay is part of. Valid on Spack 0.23 and on 1.x: it takes everything from
# spack.package, and inherits from nothing but CMakePackage.
import os

from spack.package import *

CLONE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))


class Galvatron(CMakePackage):
    """Automatic hybrid-parallel training of transformers: profiles, searches a plan, trains."""

    homepage = "file://" + CLONE
    git = "file://" + CLONE

    license("Apache-2.0")

    version("main", branch="main")

    variant("cuda", default=False, description="Build the CUDA backend")
    variant(
        "cuda_arch",
        values=any_combination_of("80", "86", "89", "90", "100"),
        when="+cuda",
        description="Compute capabilities to build for; none: those of the build itself",
    )
    variant("nccl", default=True, when="+cuda", description="Use NCCL between CUDA devices")
    variant("papi", default=True, description="Read hardware counters")
    variant("tests", default=False, description="Build the tests and benchmarks")

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
    depends_on("nccl", when="+nccl")
    depends_on("googletest", when="+tests")
    depends_on("benchmark", when="+tests")
    depends_on("python@3.9:", when="+tests", type=("build", "test"))

    def cmake_args(self):
        args = [
            # A package may be used on another node than the one that built it; Spack's target flags say for which.
            self.define("GALVATRON_MARCH", ""),
            self.define_from_variant("GALVATRON_WITH_CUDA", "cuda"),
            self.define("GALVATRON_WITH_NCCL", self.spec.satisfies("+nccl")),
            self.define_from_variant("GALVATRON_WITH_PAPI", "papi"),
            self.define_from_variant("GALVATRON_WITH_TESTS", "tests"),
        ]
        if self.spec.satisfies("+cuda") and not self.spec.satisfies("cuda_arch=none"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args

    def setup_run_environment(self, env):
        env.set("GALVATRON_HOME", self.prefix.share.galvatron)
        env.set("GALVATRON_JOBSCRIPTS", self.prefix.share.galvatron.jobscripts)

    def check(self):
        if self.spec.satisfies("+tests"):
            with working_dir(self.build_directory):
                ctest = Executable(join_path(self.spec["cmake"].prefix.bin, "ctest"))
                ctest("--output-on-failure", "-LE", "slow|slurm|emulated|lint")
