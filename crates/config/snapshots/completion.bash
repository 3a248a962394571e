_numloom() {
  local current="${COMP_WORDS[COMP_CWORD]}"
  case "${COMP_WORDS[COMP_CWORD-1]}" in
    --run-mode) COMPREPLY=($(compgen -W "auto python exec" -- "$current")); return ;;
    --launcher) COMPREPLY=($(compgen -W "none mpirun srun jsrun aprun dask" -- "$current")); return ;;
    --gpu-backend) COMPREPLY=($(compgen -W "auto cuda sim" -- "$current")); return ;;
    --blas) COMPREPLY=($(compgen -W "auto own" -- "$current")); return ;;
    --completion) COMPREPLY=($(compgen -W "none bash zsh fish" -- "$current")); return ;;
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "--run-mode --auto-config --show-config --show-memory-usage --show-progress --nodes --ranks-per-node --launcher --launcher-extra --cpu-bind --mem-bind --gpu-bind --nic-bind --cpus --gpus --gpu-backend --omps --ompthreads --utility --sysmem --numamem --fbmem --zcmem --regmem --spill --window-size --fuse --jit --inline-size --min-cpu-chunk --min-gpu-chunk --background-compile --cuda-graphs --print-kernels --tf32 --blas --min-omp-chunk --field-reuse-fraction --field-reuse-frequency --consensus --max-exception-size --profile --profile-name --provenance --cprofile --nvprof --nsys --nsys-extra --logging --logdir --log-to-file --benchmark-to-file --gdb --cuda-gdb --memcheck --valgrind --freeze-on-error --gasnet-trace --verbose --bind-detail --warmup-nccl --disable-mpi --inline-task-launch --timing --wrapper --wrapper-inner --module --dry-run --color --version --info --completion --cuda-driver-path --use-empty-task --io-use-vfd-gds --help" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}
complete -o filenames -F _numloom numloom
