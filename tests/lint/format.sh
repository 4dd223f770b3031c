# The C files are as clang-format 14 leaves them (`make format`); another version's taste differs.
clang-format --version 2>/dev/null | grep -q 'version 14\.' || { echo "clang-format 14 is not installed"; exit 77; }
hits=$(ls *.c model/*.[ch] traces/*.[ch] plots/*.[ch] measure/*.[ch] kernels/*.h tests/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch] bench/*.[ch] 2>/dev/null |
    xargs clang-format --dry-run -Werror 2>&1 | sed -n 's/^\([^:]*\):.*error:.*/\1/p' | sort -u)
[ -z "$hits" ] || { echo "run make format (or clang-format -i) for:"; echo "$hits"; exit 1; }
