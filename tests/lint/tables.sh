# Every file has its row, every row its file, every command its section in the manual.
bad=0
say() { echo "$*"; bad=1; }
rows() { sed -n "s/^$2(\([a-z0-9_]*\).*/\1/p" "$1" 2>/dev/null; }
check() { # table, macro, file prefix, suffix
    [ -e "$1" ] || return 0
    for id in $(rows "$1" "$2"); do ls $3$id$4 >/dev/null 2>&1 || say "$1: row $id has no file $3$id$4"; done
    for f in $3*$4; do
        [ -e "$f" ] || continue
        id=${f#$3}; id=${id%$4}
        rows "$1" "$2" | grep -qx "$id" || say "$f has no row in $1"
    done
}
check model/algorithms.def ALGORITHM model/algo_ .c
check model/effects.def EFFECT model/effect_ .c
check traces/importers.def IMPORTER traces/import_ .c
check traces/backtests.def BACKTEST traces/backtest_ .c
check model/forms.def FORM model/form_ .c
check measure/backends.def BACKEND measure/backend_ .c
check measure/probes.def PROBE measure/probe_ .c
check measure/checks.def CHECK measure/check_ .c
check kernels/kernels.def KERNEL kernels/allreduce_ .cu
check plots/plots.def PLOT plots/plot_ .gp
for id in $(rows commands.def COMMAND); do
    ls */cmd_$id.c >/dev/null 2>&1 || say "commands.def: row $id has no cmd_$id.c"
    grep -q "^\.SS updraft $id\b" docs/updraft.1 || say "docs/updraft.1 has no section .SS updraft $id"
done
for f in */cmd_*.c; do
    [ -e "$f" ] || continue
    id=$(basename "$f" .c); id=${id#cmd_}
    rows commands.def COMMAND | grep -qx "$id" || say "$f has no row in commands.def"
done
exit $bad
