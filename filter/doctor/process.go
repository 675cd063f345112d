package doctor

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is a running process of this machine. Its mappings are nil if there is none.
type Process struct {
	// Maps is the text of its /proc/PID/maps.
	Maps string
	// Started is when it began.
	Started time.Time
}

// writers yields the IDs of the processes that have addresses in no mapping, with these, in the order of the IDs.
func (s *survey) writers() iter.Seq2[string, []place] {
	by := map[string][]place{}
	var pids []string
	for _, p := range s.unmapped {
		pid, ok := strings.CutPrefix(p.process, "#")
		if _, err := strconv.ParseUint(pid, 10, 31); !ok || err != nil {
			continue
		}
		if by[pid] == nil {
			pids = append(pids, pid)
		}
		by[pid] = append(by[pid], p)
	}
	slices.SortFunc(pids, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return func(yield func(string, []place) bool) {
		for _, pid := range pids {
			if !yield(pid, by[pid]) {
				return
			}
		}
	}
}

// wrote reports whether the process may be the one that wrote addresses into a log, which was last written at that time; the zero Time is
// unknown. It must have begun before, and have the code of a file at each address: the ID may be that of another process by now.
func (p Process) wrote(written time.Time, addresses []place) bool {
	if !written.IsZero() && p.Started.After(written) {
		return false
	}
	return p.Maps != "" && !slices.ContainsFunc(addresses, func(a place) bool { return !p.runs(a.address) })
}

// runs reports whether an address is in code of a file, or just after it, as a return address may be.
func (p Process) runs(address uint64) bool {
	for line := range strings.Lines(p.Maps) {
		fields := strings.Fields(line)
		if len(fields) < 6 || len(fields[1]) < 3 || fields[1][2] != 'x' || !strings.HasPrefix(fields[5], "/") {
			continue
		}
		low, high, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(low, 16, 64)
		end, err2 := strconv.ParseUint(high, 16, 64)
		if err1 == nil && err2 == nil && start <= address && address <= end {
			return true
		}
	}
	return false
}
