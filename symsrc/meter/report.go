package meter

import (
	"fmt"
	"strings"
	"time"
)

// Figures are what the filter has counted.
type Figures struct {
	// Lines and Read are those of the input, Written the bytes of the output.
	Lines         int
	Read, Written int64
	// Frames are those whose module is known, Unresolved those without a name.
	Frames, Unresolved int
}

// Add adds the figures of another stream.
func (f *Figures) Add(o Figures) {
	f.Lines += o.Lines
	f.Read += o.Read
	f.Written += o.Written
	f.Frames += o.Frames
	f.Unresolved += o.Unresolved
}

// Report returns the figures of a run until now, in lines.
func (m *Meter) Report(f Figures) string {
	u := used()
	u.cpu -= m.cpu // what the start of the program took is not in the time either
	return m.report(f, time.Since(m.begin), u)
}

// usage is what the process has used; zeros are not known.
type usage struct {
	cpu  time.Duration
	peak int64 // bytes
}

func (m *Meter) report(f Figures, wall time.Duration, u usage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "wall %.3f s", wall.Seconds())
	if u.cpu > 0 {
		fmt.Fprintf(&b, ", CPU %.3f s (%.2f cores)", u.cpu.Seconds(), ratio(u.cpu.Seconds(), wall.Seconds()))
	}
	if u.peak > 0 {
		fmt.Fprintf(&b, ", peak memory %.1f MB", float64(u.peak)/1e6)
	}
	b.WriteByte('\n')
	if f.Read > 0 {
		f.write(&b, wall)
	}
	if n := len(m.layers); n > 0 { // the outermost one was made last
		asked := m.layers[n-1].calls.Load()
		fmt.Fprintf(&b, "%d distinct look-ups: %.1f frames each\n", asked, ratio(float64(f.Frames), float64(asked)))
	}
	for _, l := range m.layers {
		self := time.Duration(max(0, l.self.Load()))
		fmt.Fprintf(&b, "%-10s %8.3f s (%.4f of wall), %d calls\n", l.name, self.Seconds(), ratio(self.Seconds(), wall.Seconds()), l.calls.Load())
	}
	return b.String()
}

// write writes the counts of the filter.
func (f *Figures) write(b *strings.Builder, wall time.Duration) {
	fmt.Fprintf(b, "%d lines, %d bytes in, %d bytes out (%.2f of it): %.0f lines/s, %.1f MB/s\n", f.Lines, f.Read, f.Written,
		ratio(float64(f.Written), float64(f.Read)), ratio(float64(f.Lines), wall.Seconds()), ratio(float64(f.Read)/1e6, wall.Seconds()))
	if f.Frames > 0 {
		fmt.Fprintf(b, "%d frames (%.4f of the lines), %d without a name (%.4f of them)\n", f.Frames, ratio(float64(f.Frames), float64(f.Lines)),
			f.Unresolved, ratio(float64(f.Unresolved), float64(f.Frames)))
	}
}

// ratio is a/b, 0 where there is no b.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
