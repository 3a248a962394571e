//! The table: one row a setting. The parser, `--help`, `--show-config`, shell completion and
//! `docs/configuration.md` are all made from it.

use crate::kinds::*;
use crate::row::{Group, Row, row};

macro_rules! settings {
    ($($field:ident: $kind:ident = $default:expr, $row:expr;)*) => {
        pub static ROWS: &[Row] = &[$(Row {
            field: stringify!($field), kind: <$kind as Kind>::INFO, ..$row
        }),*];

        /// The values, one field a row. Sizes are in bytes.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings { $(pub $field: <$kind as Kind>::Of),* }

        impl Default for Settings {
            fn default() -> Settings { Settings { $($field: $default),* } }
        }

        impl Settings {
            /// Sets a row from the texts given for it, in order; `Err` says what is needed.
            pub(crate) fn set(&mut self, row: &Row, texts: &[&str]) -> Result<(), String> {
                match row.field {
                    $(stringify!($field) => self.$field = <$kind as Kind>::read(texts, row)?,)*
                    _ => {}
                }
                Ok(())
            }

            /// A row's value as `--show-config` has it.
            pub fn show(&self, row: &Row) -> String {
                match row.field {
                    $(stringify!($field) => <$kind as Kind>::show(&self.$field),)*
                    _ => String::new(),
                }
            }

            /// Whether a row has the same value in both.
            pub(crate) fn same(&self, other: &Settings, row: &Row) -> bool {
                match row.field {
                    $(stringify!($field) => self.$field == other.$field,)*
                    _ => true,
                }
            }
        }
    };
}

/// What `--auto-config=0` reserves.
pub(crate) const MINIMAL_SYSMEM: usize = 256 * MIB;

const MOST_THREADS: usize = 4096;
const NO_OMP: &str = "there are no OpenMP groups here; --cpus sets the number of workers";
const NO_NETWORK: &str = "ranks do not talk to each other here yet";
const NO_LOGS: &str = "the runtime keeps no logs here";
const NO_REGIONS: &str = "memory is reused at once here, without fields and frequencies";

use Group::*;

settings! {
    run_mode: RunMode = RunMode::Auto, row(General, "run the program as Python or as an executable (auto: .py is Python)")
        .command_only();
    auto_config: Switch = true, row(General, "size what is not given after the machine (0: one CPU, little memory)");
    show_config: Switch = false, row(General, "print every setting, its value and where it came from");
    show_memory_usage: Switch = false, row(General, "print what the memories held, at exit");
    show_progress: Switch = false, row(General, "print tasks as they run");

    nodes: Count = 1, row(MultiNode, "nodes to run on").command_only().range(1, 1 << 20);
    ranks_per_node: Count = 1, row(MultiNode, "processes on each node").command_only().range(1, MOST_THREADS);
    launcher: Launcher = Launcher::None, row(MultiNode, "what starts the processes").command_only();
    launcher_extra: Texts = Vec::new(), row(MultiNode, "more arguments for the launcher; may be repeated")
        .command_only();

    cpu_bind: NumberGroups = Vec::new(), row(Binding, "cores for each rank of a node: 0-3/4-7").command_only();
    mem_bind: NumberGroups = Vec::new(), row(Binding, "NUMA domains for each rank of a node: 0/1").command_only();
    gpu_bind: Groups = Vec::new(), row(Binding, "GPUs for each rank of a node: 0,1/2,3").command_only();
    nic_bind: Groups = Vec::new(), row(Binding, "network devices for each rank of a node: mlx5_0/mlx5_1")
        .command_only();

    cpus: Count = 1, row(Cores, "workers that run tasks").range(1, MOST_THREADS)
        .auto("every core this process may use, shared among the ranks of the node");
    gpus: Count = 0, row(Cores, "GPUs to use").range(0, 64).auto("those the CUDA driver has, shared among the ranks of the node");
    gpu_backend: GpuBackend = GpuBackend::Auto, row(Cores, "the GPUs of the machine, or ones simulated in host memory");
    omps: Count = 0, row(Cores, "OpenMP groups").absent(NO_OMP);
    ompthreads: Count = 0, row(Cores, "threads in each OpenMP group").absent(NO_OMP);
    utility: Count = 1, row(Cores, "threads that analyse and schedule").absent("there is always one here");

    sysmem: Size = MINIMAL_SYSMEM, row(Memory, "host memory to reserve").range(1, usize::MAX)
        .auto("80% of the memory this process may use, divided by the ranks of the node");
    numamem: Size = 0, row(Memory, "host memory to reserve on each NUMA domain; 0: none");
    fbmem: Size = 0, row(Memory, "memory to reserve on each GPU").range(1, usize::MAX).auto("sized after the device");
    zcmem: Size = 128 * MIB, row(Memory, "pinned host memory that GPUs can read");
    regmem: Size = 0, row(Memory, "memory registered with the network").absent(NO_NETWORK);
    spill: DirectoryOrOff = None, row(Memory, "a directory for arrays that do not fit in host memory");

    window_size: Count = 4096, row(Tuning, "operations recorded before the window is flushed").range(1, 1 << 24);
    fuse: Switch = true, row(Tuning, "fuse runs of operations into one task");
    jit: Switch = true, row(Tuning, "generate machine code for hot kernels");
    inline_size: Count = 8192, row(Tuning, "elements up to which an operation is small: run at once on the caller's thread");
    min_cpu_chunk: Count = 16384, row(Tuning, "smallest tile, in elements, worth a worker of its own")
        .range(1, usize::MAX);
    min_gpu_chunk: Count = 1048576, row(Tuning, "smallest tile, in elements, worth a GPU of its own")
        .range(1, usize::MAX);
    background_compile: Switch = true, row(Tuning, "compile a GPU kernel in the background while the CPU does its first small work");
    cuda_graphs: Switch = true, row(Tuning, "give small GPU kernels to the GPU a few at a time; a sequence that comes again as a CUDA graph");
    print_kernels: Text = String::new(), row(Tuning, "write every fused kernel, as the CUDA program a GPU would run, into this directory");
    tf32: Switch = false, row(Tuning, "let GPUs round float32 factors of matrix products to TF32: faster, three digits");
    blas: Blas = Blas::Auto, row(Tuning, "large matrices: by the OpenBLAS that NumPy brought, or by own code only");
    min_omp_chunk: Count = 131072, row(Tuning, "smallest tile, in elements, worth an OpenMP group").absent(NO_OMP);
    field_reuse_fraction: Count = 256, row(Tuning, "share of memory freed before fields are reused").absent(NO_REGIONS);
    field_reuse_frequency: Count = 32, row(Tuning, "how often ranks agree on fields to reuse").absent(NO_REGIONS);
    consensus: Switch = false, row(Tuning, "have ranks agree on what they free").absent(NO_NETWORK);
    max_exception_size: Count = 4096, row(Tuning, "largest exception, in bytes, a task may raise")
        .absent("exceptions have no size limit here");

    profile: Switch = false, row(Profiling, "write a profile of the run: NAME_RANK.prof and a report in --logdir");
    profile_name: Text = "numloom".into(), row(Profiling, "how names of profiles start (by the command legate: legate)");
    provenance: Switch = true, row(Profiling, "keep the line that asked for each operation")
        .absent("lines are always kept here");
    cprofile: Switch = false, row(Profiling, "run the script under Python's cProfile, into NAME_RANK.cprof in --logdir")
        .command_only();
    nvprof: Switch = false, row(Profiling, "run under nvprof, into NAME_RANK.nvvp in --logdir").command_only();
    nsys: Switch = false, row(Profiling, "run under Nsight Systems, into NAME_RANK in --logdir").command_only();
    nsys_extra: Texts = Vec::new(), row(Profiling, "more arguments for nsys; may be repeated").command_only();

    logging: Text = String::new(), row(Logging, "loggers and their levels: name=level,…").absent(NO_LOGS);
    logdir: Directory = ".".into(), row(Logging, "where logs and profiles are written");
    log_to_file: Switch = false, row(Logging, "write logs to files in --logdir").absent(NO_LOGS);
    benchmark_to_file: Switch = false, row(Logging, "write benchmark figures to files in --logdir").absent(NO_LOGS);

    gdb: Switch = false, row(Debugging, "run under gdb").command_only();
    cuda_gdb: Switch = false, row(Debugging, "run under cuda-gdb").command_only();
    memcheck: Switch = false, row(Debugging, "run under compute-sanitizer").command_only();
    valgrind: Switch = false, row(Debugging, "run under valgrind").command_only();
    freeze_on_error: Switch = false, row(Debugging, "stop and wait for a debugger when an error occurs")
        .absent("errors are exceptions here; run under --gdb or pdb");
    gasnet_trace: Switch = false, row(Debugging, "trace GASNet").absent(NO_NETWORK);

    verbose: Switch = false, row(Other, "print the command and the environment before running").command_only()
        .short('v');
    bind_detail: Switch = false, row(Other, "print what each rank was bound to").command_only();
    warmup_nccl: Switch = false, row(Other, "start NCCL before the program").absent(NO_NETWORK);
    disable_mpi: Switch = false, row(Other, "each process on its own, even where a launcher started several");
    inline_task_launch: Switch = false, row(Other, "run tasks on the thread that records them")
        .absent("small tasks are always run so here (--inline-size)");
    timing: Switch = false, row(Other, "print the time the program took").command_only();
    wrapper: Texts = Vec::new(), row(Other, "a command to put before the program's, debugger and all; may be repeated")
        .command_only();
    wrapper_inner: Texts = Vec::new(), row(Other, "a command to put right before the program's; may be repeated")
        .command_only();
    module: Text = String::new(), row(Other, "run a Python module; the rest are its arguments").command_only()
        .short('m');
    dry_run: Switch = false, row(Other, "print the command and the environment, and run nothing").command_only();
    color: Switch = false, row(Other, "colour the command's own messages").absent("messages have no colours here");
    version: Switch = false, row(Other, "print the version").command_only();
    info: Switch = false, row(Other, "print what was found on this machine").command_only();
    completion: Shell = Shell::None, row(Other, "print completion for a shell").command_only();
    cuda_driver_path: Text = String::new(), row(Other, "the CUDA driver's library (libcuda.so.1), where it is not found by itself");
    use_empty_task: Switch = false, row(Other, "launch tasks without bodies, to measure the runtime")
        .absent("there is no such measurement here");
    io_use_vfd_gds: Switch = false, row(Other, "read HDF5 through GPUDirect Storage").absent("there is no HDF5 here");
}

/// The row of a field.
pub fn row_of(field: &str) -> Option<&'static Row> {
    ROWS.iter().find(|r| r.field == field)
}
