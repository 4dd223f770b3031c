# Recorded machines: a clean one, one with everything wrong, one that tells nothing.
put() { mkdir -p "$(dirname "$1")"; printf "$2" >"$1"; }
# acs FILE BITS: config space with the ACS capability at 0x100 and these control bits
acs() { { head -c 256 /dev/zero; printf '\015\000\001\000\000\000'; printf "$2"; head -c 64 /dev/zero; } >"$1"; }
# gpu ROOT PORT ADDRESS WIDTH SPEED NODE IOMMU BAR_END CORRECTABLE ACS
gpu() {
    port=$1/sys/devices/pci0000:00/$2 d=$1/sys/devices/pci0000:00/$2/$3
    mkdir -p "$d" "$1/sys/bus/pci/devices"
    ln -sf "../../../devices/pci0000:00/$2/$3" "$1/sys/bus/pci/devices/$3"
    ln -sf "../../../devices/pci0000:00/$2" "$1/sys/bus/pci/devices/$2"
    put "$port/vendor" '0x1022\n'; put "$port/class" '0x060400\n'; [ -z "${10}" ] || acs "$port/config" "${10}"
    put "$d/vendor" '0x10de\n'; put "$d/class" '0x030200\n'
    put "$d/current_link_speed" "$5 GT/s PCIe\n"; put "$d/max_link_speed" '32.0 GT/s PCIe\n'
    put "$d/current_link_width" "$4\n"; put "$d/max_link_width" '16\n'; put "$d/numa_node" "$6\n"
    put "$d/iommu_group/type" "$7\n"
    put "$d/resource" "0x00000000b0000000 0x00000000b0ffffff 0x0000000000040200\n0x0000020000000000 $8 0x000000000014220c\n"
    put "$d/aer_dev_correctable" "RxErr 0\nBadTLP $9\nTOTAL_ERR_COR $9\n"
}
host() { # ROOT GOVERNOR SHM ALLOWED
    put "$1/sys/devices/system/cpu/online" '0-15\n'; put "$1/sys/devices/system/node/online" '0-1\n'
    put "$1/sys/devices/system/node/node0/cpulist" '0-7\n'; put "$1/sys/devices/system/node/node1/cpulist" '8-15\n'
    put "$1/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor" "$2\n"
    put "$1/proc/mounts" "proc /proc proc rw 0 0\ntmpfs /dev/shm tmpfs rw,size=$3 0 0\n"
    put "$1/proc/self/status" "Name:\tx\nCpus_allowed_list:\t$4\n"
    put "$1/proc/cpuinfo" 'processor\t: 0\nmodel name\t: Example CPU\n'
}
gpu good 0000:00:01.0 0000:01:00.0 16 32.0 0 identity 0x0000020fffffffff 0 '\000\000'
gpu good 0000:00:02.0 0000:02:00.0 16 32.0 0 identity 0x0000020fffffffff 0 '\000\000'
host good performance 16g 0-15
put good/nvml.json '{"driver":"580.1","p2p":1,"gpus":[{"pci":"0000:01:00.0","name":"A","memory_bytes":48000000000,"throttle":0,"processes":0},{"pci":"0000:02:00.0","name":"A","memory_bytes":48000000000,"throttle":1,"processes":0}]}'
"$UPDRAFT" doctor --root good; echo "exit $?"

gpu bad 0000:00:01.0 0000:01:00.0 8 32.0 0 DMA-FQ 0x000002000fffffff 123 '\035\000'
gpu bad 0000:40:01.0 0000:41:00.0 16 2.5 1 DMA-FQ 0x000002000fffffff 0 '\035\000'
host bad powersave 65536k 0-7
put bad/nvml.json '{"p2p":0,"p2p_why":"chipset not supported","gpus":[{"pci":"0000:01:00.0","name":"A","throttle":4,"processes":2,"link_gen_max":4},{"pci":"0000:41:00.0","name":"B","throttle":64}]}'
put bad/proc/self/environ 'HOME=/root\000NCCL_PROTO=LL\000PATH=/bin\000NCCL_DEBUG=WARN\000'
put bad/root/.nccl.conf '# a comment\nNCCL_PROTO=Simple\nNCCL_BUFFSIZE = 1048576\n'
put bad/etc/nccl.conf 'NCCL_P2P_DISABLE=1\nOTHER=1\n'
"$UPDRAFT" doctor --root bad; echo "exit $?"
"$UPDRAFT" doctor --root bad --json -o bad.json; echo "exit $?"
python3 - <<'P'
import json
d = json.load(open('bad.json'))
print(d['gpus'], d['faults'], d['notices'], [(c['id'], c['state'], len(c['findings'])) for c in d['checks']])
P
mkdir -p mute; "$UPDRAFT" doctor --root mute --json | grep -c '"state"'
# NCCL_CONF_FILE replaces ~/.nccl.conf; a file that is noise says nothing.
put conf/proc/self/environ 'HOME=/root\000NCCL_CONF_FILE=/opt/n.conf\000'
put conf/root/.nccl.conf 'NCCL_ALGO=Tree\n'; put conf/opt/n.conf 'NCCL_ALGO=Ring\n'
"$UPDRAFT" doctor --root conf | grep NCCL_
head -c 5000 /dev/urandom >mute/nvml.json; mkdir -p mute/proc; head -c 70000 /dev/zero >mute/proc/mounts
mkdir -p mute/sys/bus/pci/devices/0000:01:00.0/config; "$UPDRAFT" doctor --root mute >/dev/null 2>&1; echo "exit $?"
"$UPDRAFT" doctor --root /nonexistent; echo "exit $?"
"$UPDRAFT" doctor extra; echo "exit $?"
"$UPDRAFT" doctor --json >here.json; [ $? -le 1 ] && python3 -m json.tool here.json >/dev/null && echo "this machine was examined"
