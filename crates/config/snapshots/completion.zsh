#compdef numloom
_arguments -S \
  '--run-mode=[run the program as Python or as an executable (auto\: .py is Python)]:run-mode:(auto python exec)' \
  '--auto-config[size what is not given after the machine (0\: one CPU, little memory)]' \
  '--show-config[print every setting, its value and where it came from]' \
  '--show-memory-usage[print what the memories held, at exit]' \
  '--show-progress[print tasks as they run]' \
  '--nodes=[nodes to run on]:N: ' \
  '--ranks-per-node=[processes on each node]:N: ' \
  '--launcher=[what starts the processes]:launcher:(none mpirun srun jsrun aprun dask)' \
  '*--launcher-extra=[more arguments for the launcher; may be repeated]:TEXT: ' \
  '--cpu-bind=[cores for each rank of a node\: 0-3/4-7]:GROUP/…: ' \
  '--mem-bind=[NUMA domains for each rank of a node\: 0/1]:GROUP/…: ' \
  '--gpu-bind=[GPUs for each rank of a node\: 0,1/2,3]:GROUP/…: ' \
  '--nic-bind=[network devices for each rank of a node\: mlx5_0/mlx5_1]:GROUP/…: ' \
  '--cpus=[workers that run tasks]:N: ' \
  '--gpus=[GPUs to use]:N: ' \
  '--gpu-backend=[the GPUs of the machine, or ones simulated in host memory]:gpu-backend:(auto cuda sim)' \
  '--omps=[OpenMP groups]:N: ' \
  '--ompthreads=[threads in each OpenMP group]:N: ' \
  '--utility=[threads that analyse and schedule]:N: ' \
  '--sysmem=[host memory to reserve]:MIB: ' \
  '--numamem=[host memory to reserve on each NUMA domain; 0\: none]:MIB: ' \
  '--fbmem=[memory to reserve on each GPU]:MIB: ' \
  '--zcmem=[pinned host memory that GPUs can read]:MIB: ' \
  '--regmem=[memory registered with the network]:MIB: ' \
  '--spill=[a directory for arrays that do not fit in host memory]:DIR|off:_files -/' \
  '--window-size=[operations recorded before the window is flushed]:N: ' \
  '--fuse[fuse runs of operations into one task]' \
  '--jit[generate machine code for hot kernels]' \
  '--inline-size=[elements up to which an operation is small\: run at once on the caller'\''s thread]:N: ' \
  '--min-cpu-chunk=[smallest tile, in elements, worth a worker of its own]:N: ' \
  '--min-gpu-chunk=[smallest tile, in elements, worth a GPU of its own]:N: ' \
  '--background-compile[compile a GPU kernel in the background while the CPU does its first small work]' \
  '--cuda-graphs[give small GPU kernels to the GPU a few at a time; a sequence that comes again as a CUDA graph]' \
  '--print-kernels=[write every fused kernel, as the CUDA program a GPU would run, into this directory]:TEXT: ' \
  '--tf32[let GPUs round float32 factors of matrix products to TF32\: faster, three digits]' \
  '--blas=[large matrices\: by the OpenBLAS that NumPy brought, or by own code only]:blas:(auto own)' \
  '--min-omp-chunk=[smallest tile, in elements, worth an OpenMP group]:N: ' \
  '--field-reuse-fraction=[share of memory freed before fields are reused]:N: ' \
  '--field-reuse-frequency=[how often ranks agree on fields to reuse]:N: ' \
  '--consensus[have ranks agree on what they free]' \
  '--max-exception-size=[largest exception, in bytes, a task may raise]:N: ' \
  '--profile[write a profile of the run\: NAME_RANK.prof and a report in --logdir]' \
  '--profile-name=[how names of profiles start (by the command legate\: legate)]:TEXT: ' \
  '--provenance[keep the line that asked for each operation]' \
  '--cprofile[run the script under Python'\''s cProfile, into NAME_RANK.cprof in --logdir]' \
  '--nvprof[run under nvprof, into NAME_RANK.nvvp in --logdir]' \
  '--nsys[run under Nsight Systems, into NAME_RANK in --logdir]' \
  '*--nsys-extra=[more arguments for nsys; may be repeated]:TEXT: ' \
  '--logging=[loggers and their levels\: name=level,…]:TEXT: ' \
  '--logdir=[where logs and profiles are written]:DIR:_files -/' \
  '--log-to-file[write logs to files in --logdir]' \
  '--benchmark-to-file[write benchmark figures to files in --logdir]' \
  '--gdb[run under gdb]' \
  '--cuda-gdb[run under cuda-gdb]' \
  '--memcheck[run under compute-sanitizer]' \
  '--valgrind[run under valgrind]' \
  '--freeze-on-error[stop and wait for a debugger when an error occurs]' \
  '--gasnet-trace[trace GASNet]' \
  '--verbose[print the command and the environment before running]' \
  '--bind-detail[print what each rank was bound to]' \
  '--warmup-nccl[start NCCL before the program]' \
  '--disable-mpi[each process on its own, even where a launcher started several]' \
  '--inline-task-launch[run tasks on the thread that records them]' \
  '--timing[print the time the program took]' \
  '*--wrapper=[a command to put before the program'\''s, debugger and all; may be repeated]:TEXT: ' \
  '*--wrapper-inner=[a command to put right before the program'\''s; may be repeated]:TEXT: ' \
  '--module=[run a Python module; the rest are its arguments]:TEXT: ' \
  '--dry-run[print the command and the environment, and run nothing]' \
  '--color[colour the command'\''s own messages]' \
  '--version[print the version]' \
  '--info[print what was found on this machine]' \
  '--completion=[print completion for a shell]:completion:(none bash zsh fish)' \
  '--cuda-driver-path=[the CUDA driver'\''s library (libcuda.so.1), where it is not found by itself]:TEXT: ' \
  '--use-empty-task[launch tasks without bodies, to measure the runtime]' \
  '--io-use-vfd-gds[read HDF5 through GPUDirect Storage]' \
  '--help[this list]' \
  '*::program:_files'
