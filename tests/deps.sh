#!/bin/sh
# Installs the packages that the build and the tests need, where they are missing, and says which.
# Debian and Ubuntu; elsewhere it names what is missing. Nothing is touched where all is there.
set -u
cc=${CC:-cc}
missing=
need() { # package, header, link flags
    printf '#include <stddef.h>\n#include <stdarg.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <%s>\nint main(void){return 0;}\n' "$2" |
        $cc -x c -o /dev/null - $3 2>/dev/null || missing="$missing $1"
}
need libgsl-dev gsl/gsl_version.h "-lgsl -lgslcblas -lm"
need libcjson-dev cjson/cJSON.h -lcjson
need libsqlite3-dev sqlite3.h -lsqlite3
need libcmocka-dev cmocka.h -lcmocka
command -v gnuplot >/dev/null || missing="$missing gnuplot-nox"
command -v python3 >/dev/null || missing="$missing python3"
# The pictures need at least one font with Latin letters.
if [ ! -d /usr/share/fonts/truetype/dejavu ]; then missing="$missing fonts-dejavu-core"; fi
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "updraft: please install (Debian names):$missing" >&2
    exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "updraft: as root, please run: apt-get install$missing" >&2; exit 1; }
    sudo=sudo
fi
echo "updraft: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "updraft: installing failed; by hand: apt-get install$missing" >&2
    exit 1
fi
rm -f "$log"
