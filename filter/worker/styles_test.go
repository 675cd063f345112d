package worker

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"qss-filter/filter"
	"qss-filter/sgr"
)

// TestStyles stops a worker in the midst of a log, with every option that keeps something from line to line: the next one goes
// on as if nothing had happened.
func TestStyles(t *testing.T) {
	for name, o := range map[string]filter.Options{
		"keep": {Context: filter.ContextKeep}, "append": {Style: filter.Append}, "dedupe": {Dedupe: true}, "colours": {Palette: sgr.NewPalette(true)},
		"ahead": {Lookahead: filter.Lookahead{Lines: 20, Time: time.Hour}}, "renumber": {Style: filter.Replace, Renumber: filter.RenumberAlways},
		"json": {JSON: &filter.JSONOptions{}}, "llvm": {LLVM: &filter.LLVMOptions{Errors: io.Discard}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := broker(t, brokerOptions{})
			js := client(t, url)
			o.Symbols = offsets{}
			lines := newGenerator(4003, "").log(700)
			change := func(w *Options) { w.Filter, w.Idle, w.Filters = o, time.Hour, 1 }
			for from, n := range []int{0, 150, 333, 600} {
				to := []int{150, 333, 600, 700}[from]
				_, stop := inProcess(t, url, change)
				publish(t, url, "1", strings.Join(lines[n:to], ""))
				annotated(t, js, "h.1", to-1) // the last one may wait for the next
				stop()
			}
			inProcess(t, url, change)
			got := strings.Join(annotated(t, js, "h.1", len(lines)), "")
			var want bytes.Buffer
			if err := filter.New(o).Run(t.Context(), strings.NewReader(strings.Join(lines, "")), &want); err != nil {
				t.Fatal(err)
			}
			if got != want.String() {
				t.Error(difference(got, want.String()))
			}
		})
	}
}
