package command

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"qss-filter/filter/doctor"
)

// process returns what this machine has under the ID of a process.
func process(pid string) (p doctor.Process) {
	maps, err := os.ReadFile("/proc/" + pid + "/maps")
	if err != nil {
		return p
	}
	began, err := began(pid)
	if err != nil {
		return p
	}
	return doctor.Process{Maps: string(maps), Started: began}
}

// ticks is how many ticks a second has in which the kernel counts times for programs: USER_HZ, on all machines that matter.
const ticks = 100

// began returns when a process was started (proc(5): starttime of /proc/PID/stat, btime of /proc/stat). It is up to a second early.
func began(pid string) (time.Time, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return time.Time{}, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name may have anything in it
	const starttime = 22 - 3                                                  // the first field here is the third
	if len(fields) <= starttime {
		return time.Time{}, errStat
	}
	since, err := strconv.ParseInt(fields[starttime], 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	system, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(system)) {
		if text, ok := strings.CutPrefix(line, "btime "); ok {
			booted, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return time.Unix(booted+since/ticks, 0), err
		}
	}
	return time.Time{}, errStat
}

var errStat = errors.New("a file of /proc has not what it should")
