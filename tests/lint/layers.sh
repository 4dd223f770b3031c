# Who may include whom: kernels <- measure -> traces -> model <- plots; model knows no other folder
# and is pure (no files, no printing); an include line names its folder.
bad=0
allow() { # folder, regex of folders it may name
    hits=$(grep -nE '^#include "' $1/*.c $1/*.h $1/*.def $1/*.cu $1/*.cuh 2>/dev/null | grep -vE "#include \"($2)[/.]")
    [ -z "$hits" ] || { echo "$1 may include only $2:"; echo "$hits"; bad=1; }
}
allow model model
allow kernels kernels
allow traces 'model|traces|commands'
allow plots 'model|traces|plots'
allow measure 'model|traces|measure|kernels'
hits=$(grep -nE '\b(printf|puts|fprintf|fopen|fwrite|putchar|exit|abort)\(' model/*.c model/*.h | grep -v 'snprintf\|vsnprintf')
[ -z "$hits" ] || { echo "model is pure:"; echo "$hits"; bad=1; }
hits=$(grep -nE '\b(exit|abort|atoi|atof)\(' model/*.[ch] traces/*.[ch] plots/*.[ch] measure/*.[ch] 2>/dev/null | grep -v '_exit(')
[ -z "$hits" ] || { echo "no exit, abort, atoi in library code:"; echo "$hits"; bad=1; }
hits=$(grep -lE '#include <cjson|#include <sqlite3' model/*.[ch] kernels/* 2>/dev/null)
[ -z "$hits" ] || { echo "cJSON and SQLite stay out of: $hits"; bad=1; }
hits=$(grep -lE '#include <gsl' model/cost.[ch] model/evaluate.[ch] model/scenario.[ch] model/acceptance.[ch] model/draw.[ch] model/pass.[ch] 2>/dev/null)
[ -z "$hits" ] || { echo "evaluate() and what it needs stay free of GSL: $hits"; bad=1; }
exit $bad
