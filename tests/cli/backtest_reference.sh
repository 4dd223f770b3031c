# slow
# The errors on the tables that ship are those of traces/reference/results.csv.
REWRITE= "$TOP/tests/backtest.sh"
