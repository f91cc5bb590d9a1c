#!/bin/bash
# validation.sh XTASK CUBINS FOLDER: measures the validation set on this machine's GPU, for Nsight Compute's tables and for times.
#
# CUBINS is what `cargo xtask measure FOLDER --prepare --kernels CUBINS` made. The clock is not held: at its base, where the profiler
# would hold it, memory is nearer in cycles.
set -eu
xtask=$1 cubins=$2 folder=$3
ncu=$(command -v ncu || ls /opt/nvidia/nsight-compute/*/ncu | tail -1)
profile() { # TABLE METRIC...
    local table=$1
    shift
    "$ncu" --clock-control none --csv --page raw --print-units base --metrics "$(IFS=,; echo "$*")" \
        "$xtask" measure "$folder" --only validation --kernels "$cubins" --once |
        grep '^"' | python3 -c "$columns" "$@" > "$folder/$table.csv"
}
# Of the columns which launch it is, and what was asked for.
columns='
import csv, sys
rows = list(csv.reader(sys.stdin))
kept = [rows[0].index(name) for name in ["ID", "Kernel Name", "Block Size", "Grid Size", *sys.argv[1:]]]
csv.writer(sys.stdout, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(
    [row[at].replace(",", "") if "__" in rows[0][at] else row[at] for at in kept] for row in rows)
'

mkdir -p "$folder"
profile ncu \
    sm__cycles_elapsed.max sm__cycles_active.max gpu__time_duration.sum \
    smsp__inst_executed.sum smsp__inst_issued.sum sm__warps_active.avg.pct_of_peak_sustained_active \
    l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,ld_lookup_hit,st}.sum \
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st}.sum \
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}.sum \
    lts__t_sectors_srcunit_tex_op_{read,write}.sum dram__sectors_{read,write}.sum
"$xtask" measure "$folder" --only validation --kernels "$cubins"
profile ncu-stalls \
    sm__cycles_elapsed.max \
    smsp__average_warps_issue_stalled_{barrier,branch_resolving,dispatch_stall,drain,imc_miss,lg_throttle,long_scoreboard,math_pipe_throttle,membar,mio_throttle,no_instruction,not_selected,selected,short_scoreboard,wait}_per_issue_active.ratio
