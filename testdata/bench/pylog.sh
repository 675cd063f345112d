#!/usr/bin/env bash
# Makes logs of native frames of CPython's debug build (Debian's python3.11-dbg), for runs beside other symbolizers:
#
#     testdata/bench/pylog.sh DIR
#     time qss-filter --input-dir DIR/stacks --output-dir DIR/out --no-cache --addresses=exact
#     time qss-filter --no-cache --addresses=exact < DIR/stacks/py.log > /dev/null
#
# DIR/stacks/py.log has 10,000 frames in 533 stacks with 603 addresses, DIR/unique/py.log 10,000 addresses once each, and
# DIR/small 10,000 logs of one stack. Each address lies in the middle of a function's code or, where there are not functions
# enough, further on in it.
set -euo pipefail

out=${1:?names no directory}
program=$(readlink -f "${PYTHON:-/usr/bin/python3.11-dbg}")
id=$(readelf -n "$program" | awk '/Build ID:/ { print $3 }')
# Of a program that is not position-independent the addresses are those of the file.
mkdir -p "$out/stacks" "$out/unique" "$out/small"
nm -S --defined-only "$program" | awk '$3 ~ /^[tT]$/ && length($2) == 16 { print $1, $2 }' | sort -u > "$out/functions"

frames() { # frames per log, addresses, frames per stack
  awk -v total="$1" -v unique="$2" -v depth="$3" -v elf="$program" -v id="$id" '
    function hex(s,   n, i) { n = 0; for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return n }
    { start[NR] = hex($1); size[NR] = hex($2) }
    END {
      for (i = 0; i < unique; i++) {
        at = i % NR + 1
        addr[i] = start[at] + int(size[at] * (int(i / NR) + 1) / (int(unique / NR) + 2))
      }
      seed = 42
      for (n = 0; n < total; n++) {
        seed = (seed * 1103515245 + 12345) % 2147483648
        a = unique == total ? addr[n] : addr[int(seed / 65536) % unique]
        if (n % depth == 0) print "thread " n / depth " stopped"
        printf "#%d 0x%x (%s+0x%x) (BuildId: %s)\n", n % depth, a, elf, a, id
      }
    }' "$out/functions"
}

frames 10000 603 19 > "$out/stacks/py.log"
frames 10000 10000 20 > "$out/unique/py.log"
frames 20 20 20 > "$out/small/0"
for i in $(seq 1 9999); do cp "$out/small/0" "$out/small/$i"; done
grep -c '^#' "$out/stacks/py.log" "$out/unique/py.log"
