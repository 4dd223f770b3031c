# slow
# The README's tables say what the program says.
cd "$TOP" && python3 tests/readme.py "$UPDRAFT" README.md
