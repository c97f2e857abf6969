# What programs of an unpacked bundle need to find the libraries beside them. Sourced, with `here` set to the bundle.
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_MCA_mca_base_component_path=$here/lib/openmpi OMPI_MCA_ess_singleton_isolated=1
