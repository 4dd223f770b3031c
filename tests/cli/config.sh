# Settings written, read back, verified and reverted; other people's lines stay.
unset NCCL_PROTO
printf '# mine\nNCCL_DEBUG=WARN\nNCCL_PROTO=Simple\n' >nccl.conf; cp nccl.conf before
"$UPDRAFT" config write nccl.conf --set NCCL_PROTO=LL --set NCCL_MAX_NCHANNELS=2; echo "exit $?"
cat nccl.conf
"$UPDRAFT" config verify nccl.conf --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["effective"])'
NCCL_PROTO=LL128 "$UPDRAFT" config verify nccl.conf; echo "exit $?"
"$UPDRAFT" config write nccl.conf --set NCCL_PROTO=LL128 >/dev/null; echo "exit $?"
"$UPDRAFT" config revert nccl.conf | head -n 1; "$UPDRAFT" config show nccl.conf | grep PROTO
sed -i 's/NCCL_PROTO=LL$/NCCL_PROTO=LL,Simple/' nccl.conf
"$UPDRAFT" config verify nccl.conf; echo "exit $?"
"$UPDRAFT" config revert nccl.conf; echo "exit $?"
"$UPDRAFT" config revert nccl.conf --force >/dev/null; cmp nccl.conf before && echo "as it was"
"$UPDRAFT" config revert nccl.conf; echo "exit $?"
"$UPDRAFT" config write new.py --set NCCL_NTHREADS=256; cat new.py; python3 -c 'import new,os; print(os.environ["NCCL_NTHREADS"])'
"$UPDRAFT" config revert new.py >/dev/null; ls new.py 2>&1 | sed 's/.*: //'
printf 'export NCCL_PROTO="Simple"\n' >e.env; "$UPDRAFT" config write e.env --set NCCL_PROTO=LL >/dev/null; (. ./e.env; echo "shell sees $NCCL_PROTO")
"$UPDRAFT" config write e.env --set NCCL_NTHREADS=100; echo "exit $?"
"$UPDRAFT" config write e.env --set NCCL_PROTOS=LL; echo "exit $?"
"$UPDRAFT" config write e.env --set 'NCCL_PROTO = LL'; echo "exit $?"
"$UPDRAFT" config verify nothing.conf; echo "exit $?"
"$UPDRAFT" config show nothing.conf; echo "exit $?"
"$UPDRAFT" config frob nothing.conf; echo "exit $?"
head -c 100000 /dev/zero >z.conf; "$UPDRAFT" config show z.conf; echo "exit $?"
