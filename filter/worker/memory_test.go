package worker

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"qss-filter/filter"
)

// TestMemory holds that processes which together take more than there is are put aside, and that they are taken up where they were.
func TestMemory(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	const budget, keys = 1 << 20, 60
	inProcess(t, url, func(o *Options) { o.Metrics, o.Memory = address, budget })
	var context strings.Builder
	context.WriteString(contextLines)
	for i := range 200 {
		fmt.Fprintf(&context, "{{{module:%d:m%d.so:elf:0123abcd%02x}}}\n{{{mmap:%#x:0x1000:load:%[1]d:rx:0x0}}}\n", 1+i, i, i, 0x100000+0x1000*i)
	}
	for pid := range keys {
		publish(t, url, fmt.Sprint(pid), context.String())
	}
	lines := strings.Count(context.String(), "\n")
	for pid := range keys {
		publish(t, url, fmt.Sprint(pid), frameLine+"text\n")
		got := annotated(t, js, fmt.Sprintf("h.%d", pid), lines+2)
		if !strings.Contains(got[lines], " a.so@10 ") {
			t.Errorf("process %d: %q", pid, got[lines])
		}
		if bytes := metric(t, address, "qss_filter_processes_bytes"); bytes > 2*budget {
			t.Errorf("%d bytes are in use, of %d", bytes, budget)
		}
	}
	if n := metric(t, address, "qss_filter_processes"); n > keys/2 {
		t.Errorf("%d processes of %d are in memory", n, keys)
	}
}

// TestWeight holds what a process is thought to take against what it takes.
func TestWeight(t *testing.T) {
	var text strings.Builder
	text.WriteString("{{{reset}}}\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "{{{module:%d:/usr/lib/module%d.so:elf:0123abcd%04x}}}\n{{{mmap:%#x:0x1000:load:%[1]d:rx:0x0}}}\n", i, i, i, 0x100000+0x1000*i)
	}
	for i := range 5000 {
		fmt.Fprintf(&text, "{{{bt:0:%#x:pc}}}\n", 0x100000+i*0x333)
	}
	for name, log := range map[string]string{"nothing": "text\n", "one frame": contextLines + frameLine, "much": text.String(), "frames alone": strings.Repeat(deadlyText, 100), "long": strings.Repeat(deadlyText, 2500)} {
		var real, thought int64
		fits := func() bool { return real <= 2*thought && thought <= 4*real }
		for try := 0; try == 0 || try < 10 && !fits(); try++ { // what other tests have left may be freed meanwhile
			real, thought = weigh(t, log)
		}
		if t.Logf("%s: %d bytes, thought to be %d", name, real, thought); !fits() {
			t.Errorf("%s: %d bytes, thought to be %d", name, real, thought)
		}
	}
}

// weigh returns how many bytes a process takes that has seen a log, and how many it is thought to take.
func weigh(t *testing.T, log string) (real, thought int64) {
	const n = 20
	all := make([]*process, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range all {
		f := filter.New(filter.Options{Symbols: offsets{}})
		all[i] = &process{filter: f, feed: f.Feed()}
		all[i].feed.Flush(all[i].feed.Add(t.Context(), nil, []byte(log)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	real, thought = int64(after.HeapAlloc-before.HeapAlloc)/n, all[0].footprint()
	runtime.KeepAlive(all)
	return real, thought
}
