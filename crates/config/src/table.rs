//! The table: one row a setting. The parser, `--help`, `--show-config`, shell completion and
//! `docs/configuration.md` are all made from it.

use crate::kinds::*;
use crate::row::{Group, ROW, Row};

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
const NO_CUDA: Option<&str> = Some("there is no CUDA backend here, so there is nothing for it to look at");
const NO_OMP: Option<&str> = Some("there are no OpenMP groups here; --cpus sets the number of workers");
const NO_NETWORK: Option<&str> = Some("ranks do not talk to each other here yet");
const NO_LOGS: Option<&str> = Some("the runtime keeps no logs here");
const NO_REGIONS: Option<&str> = Some("memory is reused at once here, without fields and frequencies");

const fn row(group: Group, help: &'static str) -> Row {
    Row { group, help, ..ROW }
}

const fn absent(group: Group, help: &'static str, absent: Option<&'static str>) -> Row {
    Row { absent, ..row(group, help) }
}

const fn driver(group: Group, help: &'static str) -> Row {
    Row { driver: true, ..row(group, help) }
}

use Group::*;

settings! {
    run_mode: RunMode = RunMode::Auto, driver(General, "run the program as a Python script or as an executable (auto: .py and -m are Python)");
    auto_config: Switch = true, row(General, "size what is not given after the machine; 0: one CPU, no GPU, a small pool");
    show_config: Switch = false, row(General, "print every setting, its value and where it came from");
    show_memory_usage: Switch = false, row(General, "print what the memories held, at exit");
    show_progress: Switch = false, row(General, "print tasks as they run");

    nodes: Count = 1, Row { range: (1, 1 << 20), ..driver(MultiNode, "nodes to run on") };
    ranks_per_node: Count = 1, Row { range: (1, MOST_THREADS), ..driver(MultiNode, "processes on each node") };
    launcher: Launcher = Launcher::None, driver(MultiNode, "what starts the processes");
    launcher_extra: Texts = Vec::new(), driver(MultiNode, "more arguments for the launcher; may be repeated");

    cpu_bind: NumberGroups = Vec::new(), driver(Binding, "cores for each rank of a node: 0-3/4-7");
    mem_bind: NumberGroups = Vec::new(), driver(Binding, "NUMA domains for each rank of a node: 0/1");
    gpu_bind: Groups = Vec::new(), driver(Binding, "GPUs for each rank of a node: 0,1/2,3");
    nic_bind: Groups = Vec::new(), driver(Binding, "network devices for each rank of a node: mlx5_0/mlx5_1");

    cpus: Count = 1, Row { range: (1, MOST_THREADS), auto: Some("every core this process may use, shared among the ranks of the node"), ..row(Cores, "workers that run tasks") };
    gpus: Count = 0, Row { range: (0, 1024), auto: Some("none: there is no CUDA backend yet"), ..row(Cores, "GPUs to use") };
    gpu_backend: GpuBackend = GpuBackend::Auto, row(Cores, "what stands behind a GPU: the machine's own, or one simulated in host memory");
    omps: Count = 0, absent(Cores, "OpenMP groups", NO_OMP);
    ompthreads: Count = 0, absent(Cores, "threads in each OpenMP group", NO_OMP);
    utility: Count = 1, absent(Cores, "threads that analyse and schedule", Some("the thread that waits schedules here"));

    sysmem: Size = MINIMAL_SYSMEM, Row { range: (1, usize::MAX), auto: Some("80% of the memory this process may use, divided by the ranks of the node"), ..row(Memory, "host memory to reserve") };
    numamem: Size = 0, row(Memory, "host memory to reserve on each NUMA domain; 0: none");
    fbmem: Size = 0, Row { range: (1, usize::MAX), auto: Some("sized after the device"), ..row(Memory, "memory to reserve on each GPU") };
    zcmem: Size = 128 * MIB, row(Memory, "pinned host memory that GPUs can read");
    regmem: Size = 0, absent(Memory, "memory registered with the network", NO_NETWORK);
    spill: DirectoryOrOff = None, row(Memory, "a directory for arrays that do not fit in host memory");

    window_size: Count = 4096, Row { range: (1, 1 << 24), ..row(Tuning, "operations recorded before the window is flushed") };
    fuse: Switch = true, row(Tuning, "fuse runs of operations into one task");
    jit: Switch = true, row(Tuning, "generate machine code for hot kernels");
    inline_size: Count = 8192, row(Tuning, "largest result, in elements, computed at once on the caller's thread");
    min_cpu_chunk: Count = 16384, Row { range: (1, usize::MAX), ..row(Tuning, "smallest tile, in elements, worth a worker of its own") };
    min_gpu_chunk: Count = 1048576, Row { range: (1, usize::MAX), ..row(Tuning, "smallest tile, in elements, worth a GPU of its own") };
    min_omp_chunk: Count = 131072, absent(Tuning, "smallest tile, in elements, worth an OpenMP group", NO_OMP);
    field_reuse_fraction: Count = 256, absent(Tuning, "share of memory freed before fields are reused", NO_REGIONS);
    field_reuse_frequency: Count = 32, absent(Tuning, "how often ranks agree on fields to reuse", NO_REGIONS);
    consensus: Switch = false, absent(Tuning, "have ranks agree on what they free", NO_NETWORK);
    max_exception_size: Count = 4096, absent(Tuning, "largest exception, in bytes, a task may raise", Some("exceptions have no size limit here"));

    profile: Switch = false, absent(Profiling, "write a profile of the run", Some("profiles are not written yet"));
    profile_name: Text = "numloom".into(), row(Profiling, "what the profile's files are called before _RANK (legate, when started by that command)");
    provenance: Switch = true, absent(Profiling, "keep the line that asked for each operation", Some("lines are always kept here"));
    cprofile: Switch = false, driver(Profiling, "run the script under Python's cProfile, into NAME_RANK.cprof in --logdir");
    nvprof: Switch = false, absent(Profiling, "run under nvprof", NO_CUDA);
    nsys: Switch = false, absent(Profiling, "run under Nsight Systems", NO_CUDA);
    nsys_extra: Texts = Vec::new(), absent(Profiling, "more arguments for nsys; may be repeated", NO_CUDA);

    logging: Text = String::new(), absent(Logging, "loggers and their levels: name=level,…", NO_LOGS);
    logdir: Directory = ".".into(), row(Logging, "where logs and profiles are written");
    log_to_file: Switch = false, absent(Logging, "write logs to files in --logdir", NO_LOGS);
    benchmark_to_file: Switch = false, absent(Logging, "write benchmark figures to files in --logdir", NO_LOGS);

    gdb: Switch = false, driver(Debugging, "run under gdb");
    cuda_gdb: Switch = false, absent(Debugging, "run under cuda-gdb", NO_CUDA);
    memcheck: Switch = false, absent(Debugging, "run under compute-sanitizer", NO_CUDA);
    valgrind: Switch = false, driver(Debugging, "run under valgrind");
    freeze_on_error: Switch = false, absent(Debugging, "stop and wait for a debugger when an error occurs", Some("errors are exceptions here; run under --gdb or pdb"));
    gasnet_trace: Switch = false, absent(Debugging, "trace GASNet", NO_NETWORK);

    verbose: Switch = false, Row { short: Some('v'), ..driver(Other, "print the command and the environment before running") };
    bind_detail: Switch = false, driver(Other, "print what each rank was bound to");
    warmup_nccl: Switch = false, absent(Other, "start NCCL before the program", NO_NETWORK);
    disable_mpi: Switch = false, row(Other, "each process on its own, even where a launcher started several");
    inline_task_launch: Switch = false, absent(Other, "run tasks on the thread that records them", Some("small tasks are always run so here (--inline-size)"));
    timing: Switch = false, driver(Other, "print the time the program took");
    wrapper: Texts = Vec::new(), driver(Other, "a command to put before the program's, debugger and all; may be repeated");
    wrapper_inner: Texts = Vec::new(), driver(Other, "a command to put right before the program's; may be repeated");
    module: Text = String::new(), Row { short: Some('m'), ..driver(Other, "run a Python module; the rest are its arguments") };
    dry_run: Switch = false, driver(Other, "print the command and the environment, and run nothing");
    color: Switch = false, absent(Other, "colour the command's own messages", Some("messages have no colours here"));
    version: Switch = false, driver(Other, "print the version");
    info: Switch = false, driver(Other, "print what was found on this machine");
    completion: Shell = Shell::None, driver(Other, "print completion for a shell");
    cuda_driver_path: Text = String::new(), absent(Other, "the CUDA driver's library", NO_CUDA);
    use_empty_task: Switch = false, absent(Other, "launch tasks without bodies, to measure the runtime", Some("there is no such measurement here"));
    io_use_vfd_gds: Switch = false, absent(Other, "read HDF5 through GPUDirect Storage", NO_CUDA);
}

/// The row of a field.
pub fn row_of(field: &str) -> Option<&'static Row> {
    ROWS.iter().find(|r| r.field == field)
}
